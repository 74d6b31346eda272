#include "trainer/saved_run.h"

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "trainer/checkpoint.h"
#include "trainer/machine.h"
#include "trainer/tensor_files.h"
#include "trainer/training_step.h"

namespace windtunnel::trainer {
namespace fs = std::filesystem;
namespace {

/// The configuration of a saved model. Its corpus is asked only where the vocabulary is not told.
study::RunConfig read_config(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  base::Json document = base::read_json(file);
  const base::Json* vocabulary = base::find_path(document, "model.vocabulary_size");
  if (!vocabulary || *vocabulary == 0) return study::resolve_run_config(document, file.string());
  const base::Json* path = base::find_path(document, "data.corpus");
  const bool has_corpus = path && path->is_string();
  const std::string corpus = has_corpus ? path->get<std::string>() : "";
  if (has_corpus) base::set_path(document, "data.corpus", "");
  study::RunConfig config = study::resolve_run_config(document, file.string());
  config.data.corpus = corpus;
  return config;
}

bool is_weights_folder(const fs::path& folder) {
  return fs::exists(folder / kWeightsFile) && !fs::exists(folder / "checkpoint");
}

/// Returns the hash of the weights.
std::string read_weights(const fs::path& folder, const NamedTensors& weights) {
  if (is_weights_folder(folder)) {
    const fs::path file = folder / kWeightsFile;
    const std::string content = base::read_file(file);
    copy_tensors(content, file.string(), weights);
    return base::sha256(content);
  }
  const CheckpointManifest manifest = read_checkpoint_manifest(folder / "checkpoint");
  load_tensors(folder / "checkpoint", manifest, kWeightsFile, weights);
  return manifest.files.at(kWeightsFile).sha256;
}

}  // namespace

std::unique_ptr<model::LanguageModel> initial_model(const study::RunConfig& config) {
  const base::RandomStream weights(static_cast<uint64_t>(config.train.seed), "weights");
  return std::make_unique<model::LanguageModel>(config.model, weights);
}

SavedModel read_model(const fs::path& folder) {
  SavedModel saved{.config = read_config(folder), .model = nullptr, .weights_sha256 = {}};
  saved.model = initial_model(saved.config);
  saved.weights_sha256 = read_weights(folder, weights_of(*saved.model));
  return saved;
}

SavedModel load_model(const fs::path& folder) {
  // Threads and device first: they must be set before LibTorch is used, and refuse at once.
  const study::TrainConfig train = read_config(folder).train;
  prepare_threads(train.threads);
  const torch::Device device = open_device(train.device);
  SavedModel saved = read_model(folder);
  saved.model->to(device);
  saved.model->eval();
  return saved;
}

SavedRun load_run(const fs::path& folder) {
  if (is_weights_folder(folder)) {
    throw base::UsageError(folder.string() +
                           " has weights but is no run; windtunnel import makes one of it");
  }
  SavedModel saved = load_model(folder);
  if (saved.config.data.corpus.empty()) {
    throw base::UsageError(
        folder.string() +
        ": data.corpus = \"\": the run has no corpus and so no tokenizer; import "
        "its weights again with data.corpus=FOLDER");
  }
  auto tokenizer = corpus::Tokenizer::load(fs::path(saved.config.data.corpus) / "tokenizer.json");
  return {.config = std::move(saved.config),
          .model = std::move(saved.model),
          .tokenizer = std::move(tokenizer),
          .weights_sha256 = std::move(saved.weights_sha256)};
}

}  // namespace windtunnel::trainer

#include "trainer/saved_run.h"

#include "trainer/checkpoint.h"
#include "trainer/machine.h"
#include "trainer/training_step.h"

namespace windtunnel::trainer {

SavedRun load_run(const std::filesystem::path& folder) {
  const auto file = folder / "config.json";
  auto config = study::resolve_run_config(base::read_json(file), file.string());
  prepare_threads(config.train.threads);
  const torch::Device device = open_device(config.train.device);
  const auto checkpoint = folder / "checkpoint";
  const CheckpointManifest manifest = read_checkpoint_manifest(checkpoint);

  const auto seed = static_cast<uint64_t>(config.train.seed);
  auto model =
      std::make_unique<model::LanguageModel>(config.model, base::RandomStream(seed, "weights"));
  load_tensors(checkpoint, manifest, kWeightsFile, weights_of(*model));
  model->to(device);
  model->eval();
  auto tokenizer =
      corpus::Tokenizer::load(std::filesystem::path(config.data.corpus) / "tokenizer.json");
  return {.config = std::move(config),
          .model = std::move(model),
          .tokenizer = std::move(tokenizer),
          .weights_sha256 = manifest.files.at(kWeightsFile).sha256};
}

}  // namespace windtunnel::trainer

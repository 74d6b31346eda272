#include "trainer/weights_folder.h"

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "corpus/tokenizer.h"
#include "trainer/checkpoint.h"
#include "trainer/safetensors.h"
#include "trainer/saved_run.h"
#include "trainer/tensor_files.h"
#include "trainer/training_step.h"

namespace windtunnel::trainer {
namespace fs = std::filesystem;
namespace {

using base::Json;

constexpr const char* kConfigFile = "config.json";
constexpr const char* kTokenizerFile = "tokenizer.json";
constexpr const char* kFormatVersion = "format_version";

void require_free(const fs::path& folder) {
  std::error_code error;
  const bool is_free = fs::is_directory(folder, error) && fs::is_empty(folder, error);
  if (!fs::exists(folder, error) || is_free) return;
  throw base::UsageError(folder.string() + " is there already; choose another name or remove it");
}

std::map<std::string, std::string> metadata_of(const study::RunConfig& config,
                                               const model::LanguageModel& model) {
  Json roles = Json::object();
  for (const auto& parameter : model.parameters_with_roles()) {
    roles[parameter.name] = name_of(parameter.role);
  }
  return {{kFormatVersion, std::to_string(kWeightsFormatVersion)},
          {"code_version", base::short_fingerprint(base::sha256_of_file("/proc/self/exe"))},
          {"config_fingerprint", study::config_fingerprint(config)},
          {"roles", roles.dump()}};
}

/// Files that other programs wrote have no version and are taken at their word.
void check_version(const std::string& content, const std::string& subject) {
  const auto metadata = parse_metadata(content, subject);
  const auto found = metadata.find(kFormatVersion);
  if (found == metadata.end() || found->second == std::to_string(kWeightsFormatVersion)) return;
  throw base::Error(subject + ": " + kFormatVersion + " is " + found->second +
                    ", this program reads " + std::to_string(kWeightsFormatVersion));
}

/// What the weights' tokens mean must be what the corpus's tokens mean.
void check_corpus(const fs::path& folder, const Json& document) {
  const Json* path = base::find_path(document, "data.corpus");
  if (!path || !path->is_string() || path->get<std::string>().empty()) return;
  const fs::path corpus = path->get<std::string>();
  if (!fs::exists(corpus / "manifest.json")) {
    throw base::ConfigError(folder.string(),
                            {{"data.corpus", path->dump(),
                              "is not there; add data.corpus=FOLDER of a corpus with the same "
                              "tokenizer, or data.corpus= to do without text"}});
  }
  if (!fs::exists(folder / kTokenizerFile)) return;
  const auto fingerprint = [](const fs::path& file) {
    return corpus::Tokenizer::load(file).fingerprint();
  };
  if (fingerprint(folder / kTokenizerFile) == fingerprint(corpus / kTokenizerFile)) return;
  throw base::ConfigError(folder.string(),
                          {{"data.corpus", path->dump(),
                            "must have the tokenizer of the weights, " +
                                (folder / kTokenizerFile).string() + "; it has another"}});
}

}  // namespace

void write_weights_folder(const fs::path& folder, const study::RunConfig& config,
                          const model::LanguageModel& model) {
  require_free(folder);
  const fs::path tokenizer = fs::path(config.data.corpus) / kTokenizerFile;
  if (!config.data.corpus.empty() && !fs::exists(tokenizer)) {
    throw base::UsageError("data.corpus = " + config.data.corpus + ": its " + kTokenizerFile +
                           " is not there, without which nobody knows what the tokens mean; put "
                           "the corpus back");
  }
  base::write_folder_atomic(folder, [&](const fs::path& temporary) {
    write_tensors(temporary / kWeightsFile, weights_of(model), metadata_of(config, model));
    base::write_json(temporary / kConfigFile, base::to_json(config));
    if (!config.data.corpus.empty()) {
      base::write_file_atomic(temporary / kTokenizerFile, base::read_file(tokenizer));
    }
  });
}

void import_weights(const fs::path& folder, const fs::path& run,
                    const std::vector<std::string>& overrides) {
  require_free(run);
  const fs::path file = folder / kConfigFile;
  Json document = base::read_json(file);
  for (const std::string& assignment : overrides) base::apply_override(document, assignment);
  check_corpus(folder, document);
  const study::RunConfig config = study::resolve_run_config(document, file.string());

  const auto model = initial_model(config);
  const Objectives objectives = objectives_of(config, *model);
  const auto optimizers =
      make_optimizers(trained_parameters(*model, objectives), config.train.optimizer);
  const std::string subject = (folder / kWeightsFile).string();
  const std::string content = base::read_file(subject);
  check_version(content, subject);
  copy_tensors(content, subject, weights_of(*model));

  RunPosition start;
  start.precision = config.train.precision;
  start.config_fingerprint = base::fingerprint(base::to_json(config));
  base::write_folder_atomic(run, [&](const fs::path& temporary) {
    base::write_json(temporary / kConfigFile, base::to_json(config));
    save_checkpoint(temporary / "checkpoint", weights_of(*model),
                    training_state(*model, objectives, optimizers), start);
  });
}

}  // namespace windtunnel::trainer

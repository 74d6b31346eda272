#pragma once
// A trained model, read back from the folder of its run.

#include <filesystem>
#include <memory>
#include <string>

#include "corpus/tokenizer.h"
#include "model/language_model.h"
#include "study/run_config.h"

namespace windtunnel::trainer {

/// The model a run starts with: weights drawn from its seed, on the CPU.
std::unique_ptr<model::LanguageModel> initial_model(const study::RunConfig& config);

struct SavedModel {
  study::RunConfig config;
  std::unique_ptr<model::LanguageModel> model;
  /// Of the weights that were read.
  std::string weights_sha256;
};

/// Reads configuration and weights of a run folder or a weights folder (weights_folder.h) into a
/// model on the CPU. The corpus need not be there if the configuration has the vocabulary's size.
/// Errors: Error naming the file that is missing or damaged.
SavedModel read_model(const std::filesystem::path& folder);

/// The same, in evaluation mode on the device of its training and with as many threads.
/// Errors: as read_model; Refused if the device is not there.
SavedModel load_model(const std::filesystem::path& folder);

struct SavedRun {
  study::RunConfig config;
  std::unique_ptr<model::LanguageModel> model;
  corpus::Tokenizer tokenizer;
  /// Of the weights that were read.
  std::string weights_sha256;
};

/// The model of a run folder and the tokenizer of its corpus. Errors: as load_model; Error if the
/// folder is no run or the run has no corpus.
SavedRun load_run(const std::filesystem::path& folder);

}  // namespace windtunnel::trainer

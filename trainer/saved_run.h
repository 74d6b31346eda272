#pragma once
// A trained model, read back from the folder of its run.

#include <filesystem>
#include <memory>
#include <string>

#include "corpus/tokenizer.h"
#include "model/language_model.h"
#include "study/run_config.h"

namespace windtunnel::trainer {

struct SavedRun {
  study::RunConfig config;
  std::unique_ptr<model::LanguageModel> model;
  corpus::Tokenizer tokenizer;
  /// Of the weights that were read.
  std::string weights_sha256;
};

/// Reads configuration, tokenizer and weights, and puts the model, in evaluation mode, on the
/// device of its training. Uses as many threads as the training did.
/// Errors: Error naming the file that is missing or damaged; Refused if the device is not there.
SavedRun load_run(const std::filesystem::path& folder);

}  // namespace windtunnel::trainer

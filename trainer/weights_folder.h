#pragma once
// Weights in a form that other programs read; the names and shapes of the tensors are in
// trainer/weights.md.
//
//   weights.safetensors   parameters and state buffers, F32
//   config.json           the resolved run configuration
//   tokenizer.json        for Hugging Face's tokenizers; if the run has a corpus

#include <filesystem>
#include <string>
#include <vector>

#include "model/language_model.h"
#include "study/run_config.h"

namespace windtunnel::trainer {

/// Of the folder: raised when a name or a meaning changes.
inline constexpr int kWeightsFormatVersion = 1;

/// Writes the folder; metadata of the tensors: format_version, code_version (of this program),
/// config_fingerprint (as in run records, without the seed) and roles, a JSON object of tensor name
/// -> parameter role.
///
/// Errors: UsageError if something is at `folder` already; Error naming the file that cannot be
/// read or written. Nothing half-written stays.
void write_weights_folder(const std::filesystem::path& folder, const study::RunConfig& config,
                          const model::LanguageModel& model);

/// Makes a run folder whose checkpoint has the weights of a folder as above: the run stands before
/// its first step, with fresh states of its optimizers.
///
/// `overrides` ("a.b=value") change the configuration, e.g. data.corpus where the corpus lies
/// elsewhere on this machine.
///
/// Errors: UsageError if something is at `run` already; ConfigError if the configuration is wrong,
/// its corpus not there or of another tokenizer, or tensors are missing, left over or of another
/// shape or dtype (all are listed); Error naming a damaged file. Then nothing is written.
void import_weights(const std::filesystem::path& folder, const std::filesystem::path& run,
                    const std::vector<std::string>& overrides = {});

}  // namespace windtunnel::trainer

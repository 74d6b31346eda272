#pragma once
// A training run from its folder to its result; see study/run_record.h for the files.

#include <filesystem>

namespace windtunnel::trainer {

/// Trains as <folder>/config.json says, from the checkpoint in the folder if there is one.
///
/// Whatever ends the training, train.json says how: completed, diverged, out_of_memory, refused or
/// interrupted (an asked-for stop, after a checkpoint). A run that is completed already is left as
/// it is. The weights are a function of configuration and seed, bit for bit, unless the budget is
/// in seconds; interruptions change nothing about that.
///
/// Returns the exit code: 0 once an outcome is written, 130 for an interrupted run.
/// Errors: Error if there is no configuration, another process trains in the folder, a file cannot
/// be written or the checkpoint is damaged; train.json then says "crashed" where it can be written.
int train_run(const std::filesystem::path& folder);

}  // namespace windtunnel::trainer

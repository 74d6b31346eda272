#pragma once
// What `demo`, `research` and `ladder` share on the command line.

#include <functional>
#include <memory>

#include "cli/command.h"
#include "cli/study_session.h"

namespace windtunnel::cli {

struct SessionCommand {
  SessionOptions session;
  bool json = false;
  bool dry_run = false;
  bool with_night = false;
  bool with_ladder = false;
  /// Of the ladder's jobs; empty: they run here.
  std::string jobs_folder;
};

/// Adds the shared options; the program is a positional one unless `command.session.program` is
/// set.
void add_session_options(CLI::App& app, SessionCommand& command);

/// Runs the steps that `with_night` and `with_ladder` ask for, or prints the plan for --dry-run.
int run_session(const SessionCommand& command);

}  // namespace windtunnel::cli

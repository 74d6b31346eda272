#pragma once
// A child in its own session whose output goes to a file (a pipe nobody reads would stop it).
//
// What ends with it: its process group, and everything it started that lost its parent, whether it
// left the group, opened a session of its own or forked twice: this process adopts the orphans of
// all its children (base/processes.h) and ends them as soon as one of its children has ended. While
// another child runs, that takes what this other one orphaned too: a child must not rely on
// daemons. If this process dies by any cause, the kernel kills the child itself (PR_SET_PDEATHSIG),
// but not orphans: processes_with() finds those at the next start. Not covered: work handed to a
// service outside (cron, systemd), and a process stuck in the kernel, which no signal ends.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bounded_output.h"
#include "base/file_access.h"

namespace windtunnel::base {

struct ChildOptions {
  /// argv[0] is looked up in PATH unless it contains '/'.
  std::vector<std::string> command;
  /// Receives stdout and stderr, appended. Empty: both are dropped.
  std::filesystem::path output_file = {};
  /// At most so much of them (bounded_output.h); 0: all.
  int64_t max_output_bytes = 0;
  std::filesystem::path working_folder = {};
  /// Added to, or replacing, the inherited environment, which loses the variables of secrets
  /// (secrets.h).
  std::map<std::string, std::string> environment = {};
  /// What it may do with files; everything if absent. Needs can_restrict_files().
  std::optional<FileAccess> file_access = {};
};

struct ExitStatus {
  /// The exit code, or nullopt if a signal ended it.
  std::optional<int> code;
  std::optional<int> signal;
  /// We ended it because its deadline passed or a stop was asked for.
  bool was_stopped = false;

  bool ok() const { return code == 0; }
  /// "exit code 3", "signal 9 (Killed)".
  std::string text() const;
};

/// A running child. Destroying it kills it and all it left at once.
class ChildProcess {
 public:
  /// Errors: Error naming the program if it cannot be started.
  explicit ChildProcess(const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  /// The status once it has ended; never waits.
  std::optional<ExitStatus> poll();
  /// Waits at most `limit`.
  std::optional<ExitStatus> wait_for(std::chrono::milliseconds limit);
  /// TERM to the group, without waiting.
  void ask_to_stop();
  /// TERM to the group, `grace`, then KILL to the group. Returns when it has ended, or half a
  /// minute after KILL: then with neither code nor signal.
  ExitStatus stop(std::chrono::milliseconds grace);
  /// Orphans that were ended with it.
  int orphans_ended() const { return orphans_ended_; }

 private:
  void end_with(const ExitStatus& status);

  pid_t pid_ = -1;
  std::optional<ExitStatus> status_;
  std::unique_ptr<BoundedOutput> output_;
  int orphans_ended_ = 0;
};

/// Runs a child to its end. `deadline` counts from now; when it passes, or when `keep_going`
/// (called a few times a second) returns false, the group is stopped with `grace`.
ExitStatus run_child(const ChildOptions& options,
                     std::optional<std::chrono::milliseconds> deadline = {},
                     std::chrono::milliseconds grace = std::chrono::seconds(5),
                     const std::function<bool()>& keep_going = {});

}  // namespace windtunnel::base

#pragma once
// A child in its own process group whose output goes to a file (a pipe nobody reads would stop it).

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace windtunnel::base {

struct ChildOptions {
  /// argv[0] is looked up in PATH unless it contains '/'.
  std::vector<std::string> command;
  /// Receives stdout and stderr, appended. Empty: both are dropped.
  std::filesystem::path output_file = {};
  std::filesystem::path working_folder = {};
  /// Added to, or replacing, the inherited environment, which loses the variables of secrets
  /// (secrets.h).
  std::map<std::string, std::string> environment = {};
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

/// A running child. Destroying it kills its whole group at once; if this process dies by any cause,
/// the kernel kills the child too (PR_SET_PDEATHSIG), so nothing is left holding a device.
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
  /// TERM to the group, `grace`, then KILL to the group. Returns when it has ended.
  ExitStatus stop(std::chrono::milliseconds grace);

 private:
  pid_t pid_ = -1;
  std::optional<ExitStatus> status_;
};

/// Runs a child to its end. `deadline` counts from now; when it passes, or when `keep_going`
/// (called a few times a second) returns false, the group is stopped with `grace`.
ExitStatus run_child(const ChildOptions& options,
                     std::optional<std::chrono::milliseconds> deadline = {},
                     std::chrono::milliseconds grace = std::chrono::seconds(5),
                     const std::function<bool()>& keep_going = {});

}  // namespace windtunnel::base

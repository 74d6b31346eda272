#pragma once
// How things go wrong, by kind. An expected end of work (a diverged run, a vetoed proposal) is a
// value of its own type, never an exception; see study/run_record.h.

#include <stdexcept>
#include <string>
#include <vector>

namespace windtunnel::base {

/// Exit codes of both programs.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
/// Ended by Ctrl-C or TERM with everything saved; the same command continues. 128 + SIGINT.
inline constexpr int kExitInterrupted = 130;

/// A file, a device, the network or a child process failed. The message names the thing, the value,
/// the rule and, where there is one, the next step.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The command line asks for something that does not exist or makes no sense.
struct UsageError : Error {
  using Error::Error;
};

/// Ctrl-C or TERM arrived; thrown only where work stops between two saved states.
struct Interrupted : Error {
  Interrupted() : Error("interrupted; run the same command to continue") {}
};

/// One violated rule of a configuration, e.g. {"train.budget.amount", "-5", "must be > 0"}.
struct Problem {
  std::string path;
  std::string value;
  std::string rule;

  std::string text() const { return path + " = " + value + ": " + rule; }
};

/// A configuration, program or proposal is wrong; carries all problems, not just the first.
struct ConfigError : Error {
  ConfigError(const std::string& subject, std::vector<Problem> found);
  std::vector<Problem> problems;
};

/// Our own mistake, never the user's: throws std::logic_error when `condition` is false.
inline void check(bool condition, const char* what) {
  if (!condition) throw std::logic_error(std::string("internal error: ") + what);
}

}  // namespace windtunnel::base

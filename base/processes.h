#pragma once
// The system's processes, as /proc shows them: naming one beyond doubt, and ending what a job left.

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/config.h"

namespace windtunnel::base {

/// A process for as long as this machine runs: its number is given again once it has ended, the
/// moment of its start is not.
struct ProcessName {
  int64_t pid = 0;
  /// Clock ticks from boot to start (field 22 of /proc/PID/stat).
  int64_t start_ticks = 0;
  /// /proc/sys/kernel/random/boot_id.
  std::string boot;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("pid", self.pid, {.help = "number of the process"});
    visit("start_ticks", self.start_ticks, {.help = "clock ticks from boot to its start"});
    visit("boot", self.boot, {.help = "identity of the system's start"});
  }
};

ProcessName this_process();

/// False once it has ended, also while nobody has asked for its exit status.
bool is_alive(const ProcessName& process);

/// Other processes that were started with `variable`=`value` in their environment. Those that took
/// it out before they became another program are not found, nor those of other users.
std::vector<pid_t> processes_with(const std::string& variable, const std::string& value);

/// Makes this process the parent of all orphans among its descendants (PR_SET_CHILD_SUBREAPER).
void adopt_orphans();

/// KILL to processes that are not our own children, until none of them lives, for at most five
/// seconds. Returns how many lived.
int end_processes(const std::vector<pid_t>& processes);

/// KILL to every orphan that came to this process (adopt_orphans), and to what that orphans, until
/// none is left, for at most five seconds; reaps them. An orphan is a child in another session that
/// is not in `own`. Returns how many lived.
int end_orphans(const std::set<pid_t>& own);

}  // namespace windtunnel::base

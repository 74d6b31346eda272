#pragma once
// How busy the machine is, so that a record says whether a run had it to itself.

#include <optional>

namespace windtunnel::study {

/// CPU times since boot, in seconds over all hardware threads (/proc/stat), and the load average.
struct MachineLoad {
  std::optional<double> load_average;
  std::optional<double> busy_seconds;
  std::optional<double> steal_seconds;
  std::optional<double> all_seconds;
  /// CPU time of this process's children that have ended, and of theirs.
  double children_seconds = 0;
  double at_seconds = 0;
};

/// Absent parts: the system does not tell.
MachineLoad machine_load();

/// Share of the CPU time between two looks that a hypervisor gave to others.
std::optional<double> steal_fraction(const MachineLoad& start, const MachineLoad& end);

/// Threads that were busy between two looks, without those of our children that have ended since:
/// right where no other child of ours runs.
std::optional<double> other_busy_threads(const MachineLoad& start, const MachineLoad& end);

}  // namespace windtunnel::study

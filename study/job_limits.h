#pragma once
// What a run may cost the machine before the control program steps in.

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/file_access.h"
#include "base/files.h"
#include "study/device_lease.h"

namespace windtunnel::study {

struct JobLimits {
  /// Start-up, warm-up and checkpoints of a run whose budget is in seconds, on a slow machine; such
  /// a run has this and twice its budget.
  double overhead_seconds = 120;
  /// A process that shows no sign of life (curve, checkpoint, output) for so long is taken for
  /// hung: the only limit before the first step.
  double silence_seconds = 300;
  /// Once it trains: so many times the longest pause between two points of its own curve so far,
  /// but not less than stall_seconds, without a further step.
  double stall_factor = 20;
  double stall_seconds = 60;
  /// An evaluation has overhead_seconds and so many times what training on as many tokens took.
  double evaluation_factor = 20;
  /// Between TERM and KILL.
  double grace_seconds = 10;
  /// What each process adds to stdout.log at most.
  int64_t log_bytes = 4 << 20;
  /// Free space that a run must leave beside its own checkpoints, for the journal and reports.
  uint64_t disk_reserve_bytes = 256ULL << 20;

  /// The kernel keeps training from held-out text, and all processes from changing anything but
  /// their run folder (base/file_access.h). Records say whether it did.
  bool restrict_files = base::can_restrict_files();

  /// Bytes free where a path lies.
  std::function<uint64_t(const std::filesystem::path&)> free_bytes = base::free_bytes;
  std::filesystem::path leases = lease_folder();
};

}  // namespace windtunnel::study

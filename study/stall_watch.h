#pragma once
// Does a run still make progress, by its own speed?

#include <cstdint>
#include <string>

#include "study/job_limits.h"

namespace windtunnel::study {

/// Watches the steps of one training process. Output does not count: a process that prints and
/// does not train is stuck.
class StallWatch {
 public:
  explicit StallWatch(const JobLimits& limits) : limits_(limits) {}

  /// `step` as the curve has it at the moment `now`, 0 before its first point.
  void saw(int64_t step, double now);
  /// Why it is taken for stuck, or "".
  std::string problem(double now) const;

 private:
  double patience_seconds() const;

  JobLimits limits_;
  int64_t step_ = 0;
  double last_ = 0;
  double longest_pause_ = 0;
};

}  // namespace windtunnel::study

#pragma once
// The staircase of bests: the baseline and each kept experiment after it.

#include <optional>
#include <vector>

#include "report/study_data.h"

namespace windtunnel::report {

struct Best {
  /// 0 is the baseline.
  int64_t experiment = 0;
  double bits_per_byte = 0;
  /// Relative to the best before, and to the baseline; 0.01 is 1 % fewer bits. Absent for the
  /// baseline.
  std::optional<double> step_gain;
  std::optional<double> cumulative_gain;
};

/// Empty while no baseline is finished. Values are levels; see ExperimentView.
std::vector<Best> bests(const StudyData& data);

}  // namespace windtunnel::report

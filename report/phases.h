#pragma once
// Where the time of all runs went, by what they were for.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "report/study_data.h"

namespace windtunnel::report {

inline constexpr std::array<const char*, 6> kPhaseNames = {
    "start-up", "warm-up", "training", "checkpoints", "evaluation", "unaccounted"};

struct PhaseTotals {
  /// "baseline", "candidate", "ladder", "run".
  std::string purpose;
  int64_t runs = 0;
  /// Seconds in the order of kPhaseNames; absent where no run reported the phase.
  std::array<std::optional<double>, kPhaseNames.size()> seconds;
  double wall_seconds = 0;
};

/// Finished runs only, in the order in which the purposes first appear.
std::vector<PhaseTotals> phase_totals(const StudyData& data);

}  // namespace windtunnel::report

#pragma once
// How good the predictions were, per proposer.

#include <map>
#include <optional>
#include <string>

#include "report/study_data.h"

namespace windtunnel::report {

struct Calibration {
  int64_t proposals = 0;
  int64_t vetoed = 0;
  int64_t failed = 0;
  int64_t kept = 0;
  /// Measured differences for which it is known whether the interval held them.
  int64_t scored = 0;
  int64_t covered = 0;
  /// Mean of |predicted - measured|.
  std::optional<double> mean_absolute_error;
  /// Mean of predicted - measured; negative promises too much.
  std::optional<double> bias;
  /// Mean squared error of the stated probability of being kept; 0.25 is what 50 % each time earns.
  /// A failed experiment counts as not kept, a vetoed one not at all.
  std::optional<double> brier_score;

  std::optional<double> coverage() const {
    return scored > 0 ? std::optional<double>(static_cast<double>(covered) / scored) : std::nullopt;
  }
};

/// By proposer; "" stands for all together.
std::map<std::string, Calibration> calibrations(const StudyData& data);

}  // namespace windtunnel::report

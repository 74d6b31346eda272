#include "report/calibration.h"

#include <cmath>

#include "report/wording.h"

namespace windtunnel::report {
namespace {

struct Sums {
  double absolute = 0;
  double bias = 0;
  double brier = 0;
  int64_t measured = 0;
  int64_t with_probability = 0;
};

void count(const ExperimentView& view, Calibration& result, Sums& sums) {
  ++result.proposals;
  if (!view.decided()) return;
  const study::Decision& decision = *view.experiment.decision;
  const study::Prediction& prediction = view.experiment.proposal.prediction;
  if (decision.verdict == study::verdict::kVetoed) ++result.vetoed;
  if (decision.verdict == study::verdict::kFailed) ++result.failed;
  if (view.kept()) ++result.kept;
  if (decision.verdict != study::verdict::kVetoed && finite(prediction.probability_kept)) {
    const double miss = *prediction.probability_kept - (view.kept() ? 1 : 0);
    sums.brier += miss * miss;
    ++sums.with_probability;
  }
  const auto delta = finite(decision.delta_bits_per_byte);
  if (!delta) return;
  const double error = prediction.delta_bits_per_byte - *delta;
  sums.absolute += std::abs(error);
  sums.bias += error;
  ++sums.measured;
  if (!decision.prediction_covered) return;
  ++result.scored;
  if (*decision.prediction_covered) ++result.covered;
}

}  // namespace

std::map<std::string, Calibration> calibrations(const StudyData& data) {
  std::map<std::string, Calibration> results;
  std::map<std::string, Sums> sums;
  for (const auto& view : data.experiments) {
    const std::string proposer = view.experiment.proposal.proposer;
    for (const std::string& name : {std::string(), proposer.empty() ? "unknown" : proposer}) {
      count(view, results[name], sums[name]);
    }
  }
  for (auto& [proposer, result] : results) {
    const Sums& sum = sums[proposer];
    if (sum.measured > 0) {
      const auto measured = static_cast<double>(sum.measured);
      result.mean_absolute_error = sum.absolute / measured;
      result.bias = sum.bias / measured;
    }
    if (sum.with_probability > 0)
      result.brier_score = sum.brier / static_cast<double>(sum.with_probability);
  }
  return results;
}

}  // namespace windtunnel::report

#include "agent/calibration.h"

#include <cmath>
#include <map>

namespace windtunnel::agent {

namespace {

struct Sums {
  int64_t measured = 0;
  int64_t covered = 0;
  double error = 0;
  double absolute_error = 0;
  int64_t probabilities = 0;
  double squared = 0;

  void add(const study::Prediction& prediction, const study::Decision& decision) {
    if (decision.delta_bits_per_byte) {
      ++measured;
      if (decision.prediction_covered.value_or(false)) ++covered;
      const double difference = prediction.delta_bits_per_byte - *decision.delta_bits_per_byte;
      error += difference;
      absolute_error += std::abs(difference);
    }
    if (prediction.probability_kept) {
      ++probabilities;
      const double kept = decision.verdict == study::verdict::kKeep ? 1 : 0;
      squared += (*prediction.probability_kept - kept) * (*prediction.probability_kept - kept);
    }
  }

  Calibration row(const std::string& proposer) const {
    Calibration row{.proposer = proposer, .measured = measured, .probabilities = probabilities};
    if (measured > 0) {
      const auto count = static_cast<double>(measured);
      row.interval_coverage = static_cast<double>(covered) / count;
      row.bias_bits_per_byte = error / count;
      row.mean_absolute_error_bits_per_byte = absolute_error / count;
    }
    if (probabilities > 0) row.brier_score = squared / static_cast<double>(probabilities);
    return row;
  }
};

}  // namespace

std::vector<Calibration> calibrate(const std::vector<study::Experiment>& experiments) {
  Sums all;
  std::map<std::string, Sums> by_proposer;
  for (const study::Experiment& experiment : experiments) {
    if (!experiment.decision || experiment.decision->verdict == study::verdict::kVetoed) continue;
    all.add(experiment.proposal.prediction, *experiment.decision);
    by_proposer[experiment.proposal.proposer].add(experiment.proposal.prediction,
                                                  *experiment.decision);
  }
  std::vector<Calibration> rows = {all.row("all")};
  for (const auto& [proposer, sums] : by_proposer) rows.push_back(sums.row(proposer));
  return rows;
}

}  // namespace windtunnel::agent

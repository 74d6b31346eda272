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

  int64_t throughputs = 0;
  double throughput_error = 0;

  void add(const study::ScoredExperiment& experiment) {
    const study::Prediction& prediction = experiment.prediction;
    if (experiment.delta_bits_per_byte) {
      ++measured;
      if (experiment.prediction_covered.value_or(false)) ++covered;
      const double difference = prediction.delta_bits_per_byte - *experiment.delta_bits_per_byte;
      error += difference;
      absolute_error += std::abs(difference);
    }
    if (prediction.throughput_change && experiment.throughput_change) {
      ++throughputs;
      throughput_error += std::abs(*prediction.throughput_change - *experiment.throughput_change);
    }
    if (prediction.probability_kept) {
      ++probabilities;
      const double kept = experiment.verdict == study::verdict::kKeep ? 1 : 0;
      squared += (*prediction.probability_kept - kept) * (*prediction.probability_kept - kept);
    }
  }

  Calibration row(const std::string& proposer, const std::string& family) const {
    Calibration row{.proposer = proposer,
                    .family = family,
                    .measured = measured,
                    .probabilities = probabilities,
                    .throughputs = throughputs};
    if (measured > 0) {
      const auto count = static_cast<double>(measured);
      row.interval_coverage = static_cast<double>(covered) / count;
      row.bias_bits_per_byte = error / count;
      row.mean_absolute_error_bits_per_byte = absolute_error / count;
    }
    if (probabilities > 0) row.brier_score = squared / static_cast<double>(probabilities);
    if (throughputs > 0) {
      row.mean_absolute_error_throughput = throughput_error / static_cast<double>(throughputs);
    }
    return row;
  }
};

}  // namespace

std::vector<Calibration> calibrate(const std::vector<study::ScoredExperiment>& experiments) {
  Sums all;
  std::map<std::string, Sums> by_proposer;
  std::map<std::string, std::map<std::string, Sums>> by_family;
  for (const study::ScoredExperiment& experiment : experiments) {
    if (experiment.verdict == study::verdict::kVetoed || !study::may_be_kept(experiment.kind)) {
      continue;
    }
    all.add(experiment);
    by_proposer[experiment.proposer].add(experiment);
    by_family[experiment.proposer][experiment.family].add(experiment);
  }
  std::vector<Calibration> rows = {all.row("all", "all")};
  for (const auto& [proposer, sums] : by_proposer) rows.push_back(sums.row(proposer, "all"));
  for (const auto& [proposer, families] : by_family) {
    if (families.size() < 2) continue;
    for (const auto& [family, sums] : families) rows.push_back(sums.row(proposer, family));
  }
  return rows;
}

}  // namespace windtunnel::agent

#include "study/calibration.h"

#include <map>

namespace windtunnel::study {

namespace {

struct Sums {
  Calibration row;
  double error = 0;
  double absolute_error = 0;
  double squared = 0;
  double throughput_error = 0;

  void add(const ScoredGroup& group) {
    row.decided += group.experiments;
    if (group.verdict == verdict::kKeep) row.kept += group.experiments;
    if (group.verdict == verdict::kFailed) row.failed += group.experiments;
    if (group.verdict == verdict::kVetoed) {
      row.vetoed += group.experiments;
      return;
    }
    row.measured += group.measured;
    row.covered += group.covered;
    error += group.error;
    absolute_error += group.absolute_error;
    row.throughputs += group.throughputs;
    throughput_error += group.throughput_error;
    row.probabilities += group.probabilities;
    // (p - kept)^2, kept being the same for the whole group.
    squared += group.squared_probability;
    if (group.verdict == verdict::kKeep) {
      squared += static_cast<double>(group.probabilities) - 2 * group.probability;
    }
  }

  Calibration finished(const std::string& proposer, const std::string& family) const {
    Calibration result = row;
    result.proposer = proposer;
    result.family = family;
    const auto mean = [](double sum, int64_t count) {
      return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
    };
    result.interval_coverage = mean(static_cast<double>(row.covered), row.measured);
    result.bias_bits_per_byte = mean(error, row.measured);
    result.mean_absolute_error_bits_per_byte = mean(absolute_error, row.measured);
    result.brier_score = mean(squared, row.probabilities);
    result.mean_absolute_error_throughput = mean(throughput_error, row.throughputs);
    return result;
  }
};

}  // namespace

std::vector<Calibration> calibrate(const std::vector<ScoredGroup>& groups) {
  Sums all;
  std::map<std::string, Sums> by_proposer;
  std::map<std::string, std::map<std::string, Sums>> by_family;
  for (const ScoredGroup& group : groups) {
    if (!may_be_kept(group.kind) || group.verdict.empty()) continue;
    all.add(group);
    by_proposer[group.proposer].add(group);
    by_family[group.proposer][group.family].add(group);
  }
  std::vector<Calibration> rows = {all.finished("all", "all")};
  for (const auto& [proposer, sums] : by_proposer) rows.push_back(sums.finished(proposer, "all"));
  for (const auto& [proposer, families] : by_family) {
    if (families.size() < 2) continue;
    for (const auto& [family, sums] : families) rows.push_back(sums.finished(proposer, family));
  }
  return rows;
}

}  // namespace windtunnel::study

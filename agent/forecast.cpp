#include "agent/forecast.h"

#include <algorithm>
#include <cmath>

namespace windtunnel::agent {

using study::Experiment;

namespace {

/// Prior spread of an effect over the noise of one run, before anything was tried; chosen so that
/// most single changes lie inside.
constexpr double kPriorSpreadOverNoise = 3;
constexpr double kPriorSpread = 0.1;

double normal_below(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

/// Measured changes of experiments that touched `path`, or of all with an empty path. Bounded, so
/// that one diverged run does not make every later interval useless.
std::vector<double> measured(const std::vector<Experiment>& history, const std::string& path) {
  std::vector<double> deltas;
  for (const Experiment& experiment : history) {
    if (!experiment.decision || !experiment.decision->delta_bits_per_byte) continue;
    // Other budgets and sizes say nothing about this one.
    const std::string& kind = experiment.proposal.kind;
    if (!study::may_be_kept(kind) && kind != study::kind::kFactor) continue;
    if (!path.empty() && !experiment.proposal.patch.contains(path)) continue;
    deltas.push_back(std::clamp(*experiment.decision->delta_bits_per_byte, -1.0, 1.0));
  }
  return deltas;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

PathRecord path_record(const std::vector<Experiment>& history, const std::string& path) {
  PathRecord record;
  for (const Experiment& experiment : history) {
    if (!experiment.proposal.patch.contains(path) || !experiment.decision) continue;
    if (experiment.decision->verdict == study::verdict::kVetoed) continue;
    if (!study::may_be_kept(experiment.proposal.kind)) continue;
    ++record.trials;
    if (experiment.decision->verdict == study::verdict::kKeep) ++record.kept;
  }
  const std::vector<double> deltas = measured(history, path);
  if (!deltas.empty()) record.mean_delta = mean(deltas);
  return record;
}

study::Prediction forecast(const std::vector<Experiment>& history,
                           const std::vector<std::string>& paths,
                           std::optional<double> noise_bits_per_byte, const DecisionRule& rule) {
  double spread = noise_bits_per_byte && *noise_bits_per_byte > 0
                      ? kPriorSpreadOverNoise * *noise_bits_per_byte
                      : kPriorSpread;
  // Three changes say more about how far changes reach than the prior does.
  const std::vector<double> all = measured(history, "");
  if (all.size() >= 3) spread = std::max(root_mean_square(all), spread / 3);
  const double noise = noise_bits_per_byte.value_or(spread / kPriorSpreadOverNoise);
  const double measurement_variance =
      2 * noise * noise / static_cast<double>(std::max<int64_t>(rule.min_pairs, 1));

  double center = 0;
  double variance = measurement_variance;
  for (const std::string& path : paths) {
    const std::vector<double> past = measured(history, path);
    const auto n = static_cast<double>(past.size());
    // Different values of one path differ as much as they resemble each other, hence the 1.
    const double weight = n / (n + 1 + measurement_variance / (spread * spread));
    if (!past.empty()) center += weight * mean(past);
    variance += spread * spread * (1 - weight);
  }
  const double sd = std::sqrt(variance);
  // A keep needs the interval of the difference to lie below the minimum gain.
  const double threshold = -rule.minimum_gain - kHalfInterval * std::sqrt(measurement_variance);
  return {.delta_bits_per_byte = center,
          .interval_low = center - kHalfInterval * sd,
          .interval_high = center + kHalfInterval * sd,
          .probability_kept = normal_below((threshold - center) / sd)};
}

}  // namespace windtunnel::agent

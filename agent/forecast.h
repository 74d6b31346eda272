#pragma once
// A prediction made from the record alone: what earlier changes of the same paths did.
//
//   effect ~ Normal(0, spread^2); past changes of the path shrink towards 0 by n / (n + k) with
//   k = noise of one measured difference^2 / spread^2, and what is left unknown, plus the noise of
//   the coming measurement, gives the 80 % interval.
//
// Source:  James & Stein 1961 for shrinking; Gelman et al. 2013, "Bayesian Data Analysis", ch. 5.

#include <vector>

#include "agent/program.h"
#include "study/experiment.h"

namespace windtunnel::agent {

/// 90 % quantile of the standard normal: half an 80 % interval.
inline constexpr double kHalfInterval = 1.2816;

/// What the history says about a path.
struct PathRecord {
  int64_t trials = 0;
  int64_t kept = 0;
  /// Mean measured change in bits per byte; null without a measured trial.
  std::optional<double> mean_delta;
};

PathRecord path_record(const std::vector<study::Experiment>& history, const std::string& path);

/// `paths` are what the proposal changes. Without a measured noise and history the interval is
/// +- 0.13 bits per byte: no smaller one could be defended.
study::Prediction forecast(const std::vector<study::Experiment>& history,
                           const std::vector<std::string>& paths,
                           std::optional<double> noise_bits_per_byte, const DecisionRule& rule);

}  // namespace windtunnel::agent

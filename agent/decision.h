#pragma once
// The keep gate: is a candidate better than the incumbent by more than noise can feign?
//
// Candidate and incumbent run with the same n seeds, and the incumbent with k more. With runs
// y_cs = configuration_c + seed_s + e_cs, of which the seed explains the share r of the variance,
// the difference with the least variance is
//
//   delta = candidate_n - (1 - w) incumbent_n - w incumbent_k,   w = (1 - r) k / (n + k)
//   var(delta) = v (2 - w) / (2 n),                              v = variance of a pair
//
// (means over those runs; the best linear unbiased estimate of the mixed model): the mean paired
// difference where seeds explain everything or there are no further runs, the plain difference of
// means where they explain nothing. At fixed looks (min_pairs, then as many pairs more as there are
// slots, up to max_pairs) it is held against a group-sequential boundary (boundary.h) with
// Student's t: v is the noise measured so far (noise.h) pooled with the scatter of the candidate's
// own pairs, its degrees of freedom are the sum.
//
//   keep      upper end of the interval < -minimum_gain, the interval being mean -+ t(level) se
//   discard   the last look is reached; or, earlier, the chance that it would still be kept is
//             below 5 % (normal predictive power with a flat prior). This futility stop is not
//             counted on: it only makes false keeps rarer.
//
// `confidence` speaks of the whole night: changes that change nothing are all discarded with at
// least this probability. Its complement alpha is divided evenly over the experiments still
// planned; a change that is kept gives its share back to the later ones (the fallback procedure of
// Wiens 2003, "A fixed sequence Bonferroni procedure"), and so does one that was never compared. It
// holds for any dependence between experiments, and they are dependent: they share an incumbent.
// An e-value or online FDR would allow nights without a planned length at the price of power.

#include <optional>
#include <string>
#include <vector>

#include "agent/noise.h"
#include "agent/program.h"
#include "base/error.h"
#include "study/experiment.h"
#include "study/run_record.h"

namespace windtunnel::agent {

/// Two records whose data, split, budget, device, precision or threads differ.
struct NotComparable : base::Error {
  using base::Error::Error;
};

/// Errors: NotComparable naming both runs and their keys.
void require_comparable(const study::RunRecord& first, const study::RunRecord& second);

struct Pair {
  study::RunRecord candidate;
  study::RunRecord incumbent;
};

/// When one experiment is looked at and how small its p-value must be then.
struct SequentialTest {
  std::vector<int64_t> looks;
  std::vector<double> levels;
  double minimum_gain = 0;
  /// The r and n + k that the looks were planned with; they stay for the whole experiment.
  double seed_share = 0;
  int64_t incumbent_runs = 0;
};

/// `share` is the experiment's part of 1 - confidence; `incumbent_runs` the completed runs that the
/// incumbent has.
SequentialTest plan_test(const DecisionRule& rule, int64_t slots, double share,
                         double seed_share = 0, int64_t incumbent_runs = 0);

/// The share of 1 - confidence that the next experiment may use, from the decided ones before it.
double next_share(const std::vector<study::Experiment>& history, const DecisionRule& rule,
                  int64_t planned_experiments);

/// What a candidate is judged on: pairs of completed runs, as many as one of the looks, and
/// completed runs of the incumbent with other seeds.
struct Evidence {
  std::vector<Pair> pairs;
  std::vector<study::RunRecord> more_incumbents;
};

/// nullopt: run up to the next look. The verdict is keep or discard. `noise` must not contain the
/// candidate's runs.
///
/// Errors: NotComparable; logic_error if a run is not completed or seeds differ.
std::optional<study::Decision> judge(const Evidence& evidence, const Noise& noise,
                                     const SequentialTest& test,
                                     const study::Prediction& prediction);

/// A mean paired difference with its 80 % interval; the noise as judge() pools it.
struct Difference {
  double delta_bits_per_byte = 0;
  double interval_low = 0;
  double interval_high = 0;
  double standard_error = 0;
  int64_t degrees = 0;
};

/// Upper end of the one-sided interval of a difference: below 0, it is a gain with `confidence`.
double upper_end(const Difference& difference, double confidence);

/// Pairs need not be comparable here: controls differ on purpose, and say in what.
/// Errors: logic_error if a run is not completed or the seeds of a pair differ.
Difference paired_difference(const std::vector<Pair>& pairs, const Noise& noise);

/// Relative change of tokens per second, means over the pairs; nullopt where it is not known.
std::optional<double> throughput_change(const std::vector<Pair>& pairs);

/// The figures that a diagnostic may ask for, candidate against incumbent, means over the pairs.
std::string observed_figures(const std::vector<Pair>& pairs);

/// "yes" if the predicted interval holds the measured difference, "partial" if only the sign is as
/// predicted, else "no".
std::string agreement(const study::Prediction& prediction, double delta_bits_per_byte);

/// A decision without a comparison: verdict::kFailed or kVetoed and why.
study::Decision without_comparison(const char* verdict, const std::string& reason);

/// What a kept gain is expected to be worth once it is allowed for that only large measurements
/// pass the gate: half-way between the measured difference and the most likely one given that it
/// passed. nullopt for a decision that is no keep or has no interval.
///
/// Formula: with z = -delta / se and the threshold c of the gate in units of se, the m >= 0 that
///          solves z = m + phi(c - m) / Phi(m - c); the result is -se (z + m) / 2. The solution
///          alone corrects too much, the measured difference not at all.
/// Source:  Zhong & Prentice 2008, Biostatistics 9(4), "Bias-reduced estimators and confidence
///          intervals for odds ratios in genome-wide association studies"; they weight the two by
///          their errors, we equally.
std::optional<double> expected_difference(const study::Decision& decision);

}  // namespace windtunnel::agent

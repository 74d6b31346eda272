#pragma once
// How far the numbers of a fit may be from what was found.
//
// Profile likelihood: a parameter is moved to a trial value, all others are fitted again, and the
// trial belongs to the interval while the objective rises by no more than the noise allows:
//
//   2 (objective(trial) - objective(best)) / s^2 <= t^2,     t: Student's quantile, rows -
//   parameters
//
// s^2 is the residual variance for least squares; for Huber it is the variance that makes the same
// ratio valid (Ronchetti's tau test): K^2 sum psi^2 / (n - p) over m, the mean of psi', which is
// the share of rows in the quadratic zone. K = 1 + (p / n) (1 - m) / m is Huber's correction for
// few rows (1973, Ann. Stat. 1, 799): without it, intervals of 15 rows with a fifth of them in the
// zone hold the truth in 82 % of cases instead of 95. The curvature at the minimum (a covariance
// matrix) is not used: these laws are far from linear.
//
// Rows of one run (its checkpoints) are off together, or drift together, and know less than as many
// runs. s^2 is then larger by the design effect: the largest ratio, over the parameters, of the
// variance that the scores of whole runs give (psi times the gradient, summed in a run; Liang and
// Zeger 1986, Biometrika 73, 13) to the one above, times G / (G - p) for G runs; at least 1.
//
// A forecast is treated the same way, as one more row: the trial loss of a *new single run* belongs
// to the interval while adding it as a row raises the objective by no more than that. For a linear
// model this is the textbook prediction interval: it holds the uncertainty of the parameters and
// the noise of the new run. It cannot hold the error of a wrong law.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/config.h"
#include "scaling/objective.h"

namespace windtunnel::scaling {

/// An end that the data do not bound is null.
struct Interval {
  std::optional<double> low;
  std::optional<double> high;

  bool holds(double value) const { return !(low && value < *low) && !(high && value > *high); }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("low", self.low, {.help = "lower end; null: not bounded by the data"});
    visit("high", self.high, {.help = "upper end; null: not bounded by the data"});
  }
};

/// Of an exponent as people see it: with the sign of its source.
Interval shown_interval(const Exponent& exponent, const Interval& interval);

/// What the residuals say about noise.
struct Noise {
  /// s^2 above.
  double variance = 0;
  /// Standard deviation of one run of weight 1, in the unit of the residual (relative, for ln L).
  double one_run = 0;
  /// Rows minus parameters; runs minus parameters, at least 1, where rows share runs.
  int degrees_of_freedom = 0;
  /// By how much `variance` is larger because rows of one run move together; 1 where each is its
  /// own.
  double design_effect = 1;
  double confidence = 0.95;

  /// The rise of 2 objective / s^2 that is allowed: Student's quantile, squared.
  double threshold() const;
};

/// `floor`: a known standard deviation of one run, e.g. from replicates; a fit that happens to lie
/// closer to few rows is not believed.
/// Errors: Error if there are no degrees of freedom, or if Huber leaves no row in its quadratic
/// zone.
Noise noise_of(const Objective& objective, const Minimum& best, double confidence,
               std::optional<double> floor);

/// Of one parameter by name. A parameter that may vanish has `low` = 0 when 0 is allowed.
Interval profile_interval(const Objective& objective, const Minimum& best, const Noise& noise,
                          const std::string& parameter);

/// The profile as a curve: values through one and a half times the interval, and how far the
/// objective has risen there, in units where the interval ends at Student's quantile. Values have
/// the sign people see; empty if the interval has an open end that is no offset's 0.
std::vector<std::pair<double, double>> profile_curve(const Objective& objective,
                                                     const Minimum& best, const Noise& noise,
                                                     const std::string& parameter);

/// Of the loss of one new run at `point`. `weight` as a row's: a run half as noisy has 2.
Interval forecast_interval(const Objective& objective, const Minimum& best, const Noise& noise,
                           const Point& point, double weight = 1);

/// Of the law's mean at `point`: the band of a figure.
Interval mean_interval(const Objective& objective, const Minimum& best, const Noise& noise,
                       const Point& point);

struct Bootstrap {
  /// In the order coefficients, exponents; percentiles.
  std::vector<Interval> intervals;
  /// Of the draws that could be fitted.
  std::vector<Minimum> minima;
  int draws = 0;
  /// Draws with too few distinct budgets or sizes to fit, or without convergence.
  int failures = 0;
};

/// Draws runs (Row::run) with replacement, all rows of one together. Each draw is fitted from
/// `best` and, where a coarse grid of its own has a better projection than what was found, from
/// there: it may end in another basin.
/// Deterministic for a seed.
Bootstrap bootstrap(const Target& target, const Minimum& best, int draws, double confidence,
                    uint64_t seed, const FitProgress& progress = {});

/// The value below which `share` of the values lie, between neighbours. Sorts; not for none.
double quantile_of(std::vector<double>& values, double share);

}  // namespace windtunnel::scaling

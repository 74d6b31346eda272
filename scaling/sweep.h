#pragma once
// The best value of one quantity at one size and budget: the number of experts, their sparsity, a
// capacity. Loss over the logarithm of the quantity is often a U; a parabola through it has a
// minimum, and the rows may or may not show where it is.
//
//   ln L = c_0 + c_1 u + c_2 u^2,  u = ln x - mean,      minimum at u* = -c_1 / (2 c_2)
//
// Where several values were run on the same seeds, each seed has a c_0 of its own: what a seed does
// to all of them is no noise of the comparison.
//
// The interval of the minimum is Fieller's: the u at which the slope c_1 + 2 c_2 u may be 0,
//
//   (c_1 + 2 c_2 u)^2 <= t^2 var(c_1 + 2 c_2 u),  t: Student's quantile, rows less coefficients
//
// which is a bounded interval only if the curvature is surely not 0. A parabola is not the truth
// of such a sweep: it is judged by its scatter, which widens the interval.
//
// Source:  Fieller 1954, J. R. Stat. Soc. B 16, 175; sweeps over experts at a fixed wall clock or
//          compute: Clark et al. 2022, arXiv:2202.01169; Abnar et al. 2025, arXiv:2501.12370.

#include <optional>
#include <string>
#include <vector>

#include "scaling/intervals.h"

namespace windtunnel::scaling {

/// Stored by name.
namespace sweep_verdict {
/// The minimum and its whole interval lie among the values tried.
inline constexpr const char* kInterior = "interior";
/// The rows bend upwards, but the minimum or an end of its interval is outside them.
inline constexpr const char* kEdge = "edge";
/// The curvature may be 0 or negative, or nothing measures the noise.
inline constexpr const char* kNotIdentified = "not identified";
}  // namespace sweep_verdict

struct SweepRow {
  std::string name;
  double value = 0;
  double loss = 0;
  std::optional<int64_t> seed = std::nullopt;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "of the row"});
    visit("value", self.value, {.help = "of the quantity"});
    visit("loss", self.loss, {.help = "there"});
    visit("seed", self.seed, {.help = "of the run; null: not recorded"});
  }
};

struct Sweep {
  std::string quantity;
  std::string verdict = sweep_verdict::kNotIdentified;
  std::string reason;
  /// Of the rows, not of the parabola: lowest mean, less the level of each run's seed.
  double best_tried = 0;
  /// Null where the parabola does not open upwards.
  std::optional<double> minimum;
  Interval minimum_interval;
  std::optional<double> loss_at_minimum;
  /// c_2, and its interval.
  double curvature = 0;
  Interval curvature_interval;
  /// Relative loss of a factor of 2 off the minimum: c_2 (ln 2)^2.
  double cost_of_factor_two = 0;
  /// Standard deviation of one row about the parabola, relative; null: nothing is left to tell.
  std::optional<double> scatter;
  /// Seeds with a level of their own; 0: one level for all.
  int64_t seeds = 0;
  double confidence = 0.95;
  std::vector<SweepRow> rows;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("quantity", self.quantity, {.help = "what was swept"});
    visit("verdict", self.verdict, {.help = "interior, edge, not identified"});
    visit("reason", self.reason, {.help = "why"});
    visit("best_tried", self.best_tried, {.help = "value of the row of lowest loss"});
    visit("minimum", self.minimum, {.help = "of the parabola; null: it has none"});
    visit("minimum_interval", self.minimum_interval, {.help = "null ends: not bounded"});
    visit("loss_at_minimum", self.loss_at_minimum, {.help = "of the parabola"});
    visit("curvature", self.curvature, {.help = "of ln loss, per squared e-fold"});
    visit("curvature_interval", self.curvature_interval, {.help = "null ends: three values only"});
    visit("cost_of_factor_two", self.cost_of_factor_two,
          {.help = "relative loss of a factor of 2 off the minimum"});
    visit("scatter", self.scatter,
          {.help = "sd of one row about the parabola; null: no row too many"});
    visit("seeds", self.seeds, {.help = "with a level of their own; 0: one level for all"});
    visit("confidence", self.confidence, {.help = "of the intervals"});
    visit("rows", self.rows, {.help = "by value"});
  }
};

/// `noise`: known standard deviation of one run, relative; the parabola's own scatter is never
/// believed to be less.
/// Errors: Error with fewer than three different values, a value or loss that is not positive, or
///         seeds for some rows only.
Sweep fit_sweep(const std::string& quantity, const std::vector<SweepRow>& rows,
                double confidence = 0.95, const std::optional<double>& noise = std::nullopt);

/// For people.
std::string sweep_text(const Sweep& sweep);

}  // namespace windtunnel::scaling

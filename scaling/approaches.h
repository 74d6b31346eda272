#pragma once
// Three ways to the best size for a budget, on one table; how far they disagree is a result.
//
//   1  hull       the lower convex hull of the rows in (ln C, ln L); ln N and ln D of its corners
//                 regressed on ln C
//   2  isoflop    rows of one budget, a parabola in ln N (and one in ln D) through L; its
//                 vertices regressed on ln C
//   3  parametric the law L(N, D) fitted to all rows, its optimum in closed form
//
// Source:  Hoffmann et al. 2022, arXiv:2203.15556, sections 3.1 to 3.3; hull as in McLeish et al.
//          2025, arXiv:2502.06857. The bias of 2 is a property of parabolas through a surface that
//          is none: it is found by running 2 on the surface of 3, noise-free, at the rows' own N
//          and D.

#include "scaling/law_fit.h"

namespace windtunnel::scaling {

/// N* = exp(intercept) C^exponent, by least squares on logarithms.
struct PowerLine {
  double exponent = 0;
  double intercept = 0;
  double at(double flops) const;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("exponent", self.exponent, {.help = "of C"});
    visit("intercept", self.intercept, {.help = "ln of the value at C = 1"});
  }
};

/// Errors: Error with fewer than two different flops.
PowerLine power_line(const std::vector<double>& flops, const std::vector<double>& values);

struct HullApproach {
  int points = 0;
  PowerLine parameters;
  PowerLine tokens;
  std::vector<std::string> names;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("points", self.points, {.help = "rows on the hull"});
    visit("parameters", self.parameters, {.help = "N* over C"});
    visit("tokens", self.tokens, {.help = "D* over C"});
    visit("names", self.names, {.help = "the rows on the hull"});
  }
};

/// One budget's parabola.
struct IsoFlop {
  double flops = 0;
  int rows = 0;
  double best_parameters = 0;
  double best_tokens = 0;
  /// Of ln N; loss per squared unit.
  double curvature = 0;
  Interval curvature_interval;
  /// The vertex lies among the sampled sizes.
  bool interior = false;
  /// Middle of the sampled ln N less the vertex.
  double off_centre = 0;
  /// Half the sampled range of ln N.
  double half_width = 0;
  /// Loss at the vertex.
  double loss = 0;
  /// Why it is in no regression; empty if it is.
  std::string left_out;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("flops", self.flops, {.help = "C, geometric mean of the rows"});
    visit("rows", self.rows, {.help = "at this budget"});
    visit("best_parameters", self.best_parameters, {.help = "N at the vertex"});
    visit("best_tokens", self.best_tokens, {.help = "D at the vertex of the parabola in ln D"});
    visit("curvature", self.curvature, {.help = "of the parabola in ln N"});
    visit("curvature_interval", self.curvature_interval, {.help = "null ends: three rows only"});
    visit("interior", self.interior, {.help = "the vertex lies among the sampled sizes"});
    visit("off_centre", self.off_centre, {.help = "middle of the sampled ln N less the vertex"});
    visit("half_width", self.half_width, {.help = "half the sampled range of ln N"});
    visit("loss", self.loss, {.help = "at the vertex"});
    visit("left_out", self.left_out, {.help = "why it is in no regression; empty if it is"});
  }
};

struct IsoFlopApproach {
  std::vector<IsoFlop> budgets;
  PowerLine parameters;
  PowerLine tokens;
  /// By how much a parabola is off on the noise-free surface of approach 3 at the same rows.
  std::optional<double> exponent_bias;
  /// ln of N* it gives over N* of the surface, at the largest budget.
  std::optional<double> log_bias_at_largest;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("budgets", self.budgets, {.help = "parabolas, smallest budget first"});
    visit("parameters", self.parameters, {.help = "N* over C"});
    visit("tokens", self.tokens, {.help = "D* over C"});
    visit("exponent_bias", self.exponent_bias, {.help = "of N*, on the surface of approach 3"});
    visit("log_bias_at_largest", self.log_bias_at_largest,
          {.help = "ln of its N* over the surface's, at the largest budget"});
  }
};

struct IsoFlopRules {
  /// Vertices outside the sampled sizes are extrapolations and stay out of the regression.
  bool interior_only = true;
  double confidence = 0.95;
};

/// What each approach says; `problem` in place of one that the rows do not allow.
struct Approaches {
  std::optional<HullApproach> hull;
  std::string hull_problem;
  std::optional<IsoFlopApproach> isoflop;
  std::string isoflop_problem;
  std::optional<OptimumCurve> parametric;
  std::string parametric_problem;
  /// Largest less smallest exponent of N*; and largest over smallest N* at ten times the largest C.
  std::optional<double> exponent_spread;
  std::optional<double> size_ratio;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("hull", self.hull, {.help = "approach 1"});
    visit("hull_problem", self.hull_problem, {.help = "why there is none"});
    visit("isoflop", self.isoflop, {.help = "approach 2"});
    visit("isoflop_problem", self.isoflop_problem, {.help = "why there is none"});
    visit("parametric", self.parametric, {.help = "approach 3"});
    visit("parametric_problem", self.parametric_problem, {.help = "why there is none"});
    visit("exponent_spread", self.exponent_spread,
          {.help = "largest less smallest exponent of N*"});
    visit("size_ratio", self.size_ratio,
          {.help = "largest over smallest N* at ten times the largest C"});
  }
};

/// Errors: Error if a row lacks N, D or C, or the hull has fewer than three corners.
HullApproach hull_approach(const std::vector<Observation>& rows);

/// Errors: Error if a row lacks N, D or C, or fewer than two budgets have a usable parabola, with
/// the reason for each.
IsoFlopApproach isoflop_approach(const std::vector<Observation>& rows,
                                 const IsoFlopRules& rules = {});

/// `which`: "1", "2", "3" or "all". `fitted`: what fit_law made of these rows and options, where it
/// is known already; approach 3 and the bias of approach 2 read it.
Approaches run_approaches(const std::vector<Observation>& rows, const FitOptions& options,
                          const std::string& which, const LawFit* fitted = nullptr);

std::string approaches_text(const Approaches& approaches);

}  // namespace windtunnel::scaling

#pragma once
// One fit, complete: the law's numbers, their intervals, what the data can and cannot identify, the
// forecast and, where the outcome is known, how the forecast did. Start here.
//
//   LawFit fit = fit_law(rows, options, {{"w96", point_of(...)}});   // forecast, outcome unseen
//   score_forecasts(fit, held_out_rows);                            // then compare
//   std::cout << fit_page(fit);                                     // or base::to_json(fit)

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scaling/intervals.h"
#include "scaling/observations.h"

namespace windtunnel::scaling {

struct FitOptions {
  std::string law = "loss_c";
  std::string objective = "least_squares";
  double huber_delta = 1e-3;
  std::string on = "log";
  int starts = 16;
  double confidence = 0.95;
  int bootstrap = 0;
  int64_t seed = 1;
  std::optional<double> noise_floor;
  std::string weights = "noise";
  bool gate = false;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("law", self.law, {.help = "which law; windtunnel list laws"});
    visit("objective", self.objective,
          {.help = "loss of a residual", .choices = {"least_squares", "huber"}});
    visit("huber_delta", self.huber_delta,
          {.help = "residual above which Huber's loss is linear; in the unit of the residual",
           .exclusive_minimum = 0});
    visit("on", self.on,
          {.help = "residuals of ln L (relative) or of L", .choices = {"log", "linear"}});
    visit("starts", self.starts, {.help = "starts of the search", .minimum = 1, .maximum = 100000});
    visit("confidence", self.confidence,
          {.help = "of all intervals", .exclusive_minimum = 0, .exclusive_maximum = 1});
    visit("bootstrap", self.bootstrap,
          {.help = "draws of the bootstrap; 0: none", .minimum = 0, .maximum = 1000000});
    visit("seed", self.seed, {.help = "of the bootstrap", .minimum = 0});
    visit("noise_floor", self.noise_floor,
          {.help = "known standard deviation of one run, in the unit of the residual; the fit is "
                   "never believed to be quieter",
           .minimum = 0});
    visit("weights", self.weights,
          {.help = "of the rows: by their noise where all have a standard error (row_noise.h), or "
                   "alike",
           .choices = {"noise", "none"}});
    visit("gate", self.gate, {.help = "test the law on its own larger rows first; see gate.h"});
  }
};

/// Stored by name.
namespace identified {
inline constexpr const char* kIdentified = "identified";
inline constexpr const char* kWeak = "weak";
inline constexpr const char* kRefused = "refused";
}  // namespace identified

struct ParameterVerdict {
  std::string verdict = identified::kIdentified;
  /// One clause each, with the numbers.
  std::vector<std::string> reasons;
  /// The runs that would make it more; empty if it is identified.
  std::vector<std::string> cures;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("verdict", self.verdict, {.help = "identified, weak, refused"});
    visit("reasons", self.reasons, {.help = "why it is not more"});
    visit("cures", self.cures, {.help = "the runs that would make it more"});
  }
};

struct Verdict {
  /// The worst of the parameters'.
  std::string overall = identified::kIdentified;
  std::map<std::string, ParameterVerdict> parameters;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("overall", self.overall, {.help = "the worst of the parameters'"});
    visit("parameters", self.parameters, {.help = "by name"});
  }
};

struct Intervals {
  std::map<std::string, Interval> profile;
  std::map<std::string, Interval> bootstrap;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("profile", self.profile, {.help = "profile likelihood, by parameter"});
    visit("bootstrap", self.bootstrap, {.help = "runs drawn with replacement, by parameter"});
  }
};

/// What the rows' weights rest on; row_noise.h. In the unit of the residual.
struct RowNoise {
  bool is_used = false;
  /// Why not; "" if they are.
  std::string reason;
  /// Standard deviation between runs beyond the error of their evaluation; null: not used.
  std::optional<double> between_runs;
  bool is_given = false;
  /// Standard deviations of the quietest and the noisiest row.
  std::optional<double> smallest;
  std::optional<double> largest;
  /// Of a row of weight 1.
  std::optional<double> typical;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("is_used", self.is_used, {.help = "rows are weighted by their noise"});
    visit("reason", self.reason, {.help = "why they are not"});
    visit("between_runs", self.between_runs, {.help = "sd beyond the error of evaluation"});
    visit("is_given", self.is_given, {.help = "between_runs is known, not estimated"});
    visit("smallest", self.smallest, {.help = "sd of the quietest row"});
    visit("largest", self.largest, {.help = "sd of the noisiest row"});
    visit("typical", self.typical, {.help = "sd of a row of weight 1"});
  }
};

/// Everything needed to judge whether the minimum is one.
struct Diagnostics {
  double objective = 0;
  double residual_sum_of_squares = 0;
  double noise_of_one_run = 0;
  double design_effect = 1;
  int rows = 0;
  int degrees_of_freedom = 0;
  int distinct_points = 0;
  /// log10 of largest over smallest, of the law's first variable.
  double decades = 0;
  /// Of the law's own variables; null where it does not read them.
  std::optional<int> sizes;
  std::optional<double> size_range;
  std::optional<double> tokens_per_parameter_low;
  std::optional<double> tokens_per_parameter_high;
  int starts = 0;
  int rows_searched = 0;
  double share_in_best_basin = 0;
  std::optional<double> second_basin_objective;
  double restart_gain = 0;
  double solver_gain = 0;
  bool solver_agrees = false;
  bool answer_is_a_start = false;
  /// Rows within huber_delta; null for least squares.
  std::optional<int> rows_in_quadratic_zone;
  std::vector<std::string> bounds_hit;
  std::optional<double> condition;
  double tolerance = kTolerance;
  std::optional<int> bootstrap_failures;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("objective", self.objective, {.help = "sum over rows of the loss of the residual"});
    visit("residual_sum_of_squares", self.residual_sum_of_squares, {.help = "of all residuals"});
    visit("noise_of_one_run", self.noise_of_one_run,
          {.help = "standard deviation, in the unit of the residual"});
    visit("design_effect", self.design_effect,
          {.help = "variance of the intervals over that of rows that are runs of their own"});
    visit("rows", self.rows, {.help = "fitted"});
    visit("degrees_of_freedom", self.degrees_of_freedom, {.help = "rows minus parameters"});
    visit("distinct_points", self.distinct_points,
          {.help = "different values of the law's variables"});
    visit("decades", self.decades, {.help = "range of the first variable"});
    visit("sizes", self.sizes, {.help = "different N, to 1 %; null: the law does not read N"});
    visit("size_range", self.size_range, {.help = "largest over smallest N"});
    visit("tokens_per_parameter_low", self.tokens_per_parameter_low, {.help = "smallest D / N"});
    visit("tokens_per_parameter_high", self.tokens_per_parameter_high, {.help = "largest D / N"});
    visit("starts", self.starts, {.help = "of the search"});
    visit("rows_searched", self.rows_searched, {.help = "that the starts were tried on"});
    visit("share_in_best_basin", self.share_in_best_basin, {.help = "of the starts"});
    visit("second_basin_objective", self.second_basin_objective,
          {.help = "best objective elsewhere; null: every start ended in one place"});
    visit("restart_gain", self.restart_gain,
          {.help = "by how much restarts still lowered the objective, relative"});
    visit("solver_gain", self.solver_gain, {.help = "of it, by Ceres after our own descent"});
    visit("solver_agrees", self.solver_agrees, {.help = "Ceres could judge the minimum"});
    visit("answer_is_a_start", self.answer_is_a_start, {.help = "the search never moved"});
    visit("rows_in_quadratic_zone", self.rows_in_quadratic_zone, {.help = "of Huber's loss"});
    visit("bounds_hit", self.bounds_hit, {.help = "where the fit ended at a bound"});
    visit("condition", self.condition, {.help = "of the scaled Jacobian; null: no full rank"});
    visit("tolerance", self.tolerance, {.help = "relative change at which the solver stops"});
    visit("bootstrap_failures", self.bootstrap_failures,
          {.help = "draws that could not be fitted"});
  }
};

/// A forecast from the same rows under one assumption.
struct Alternative {
  std::string assumption;
  std::map<std::string, double> parameters;
  double predicted = 0;
  double objective = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("assumption", self.assumption, {.help = "e.g. E = 0.5"});
    visit("parameters", self.parameters, {.help = "fitted under it"});
    visit("predicted", self.predicted, {.help = "loss"});
    visit("objective", self.objective, {.help = "of the fit under it"});
  }
};

struct Forecast {
  std::string name;
  std::optional<double> parameters_active;
  std::optional<double> tokens;
  std::optional<double> flops;
  double predicted = 0;
  /// Of one new run: parameters and the noise of the run; not the error of a wrong law.
  Interval interval;
  /// The law's first variable over the largest that was fitted.
  double extrapolation_ratio = 0;
  /// `interval` widened by the model error that the hold-outs showed; null without them.
  std::optional<Interval> interval_with_model_error;
  /// Further out than any hold-out of these rows was.
  bool beyond_tested = true;
  /// If an offset is not identified: without it, and with it pinned through its interval.
  std::vector<Alternative> alternatives;

  Point point() const {
    return {parameters_active.value_or(0), tokens.value_or(0), flops.value_or(0)};
  }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "what is forecast"});
    visit("parameters_active", self.parameters_active, {.help = "N"});
    visit("tokens", self.tokens, {.help = "D"});
    visit("flops", self.flops, {.help = "C"});
    visit("predicted", self.predicted, {.help = "loss"});
    visit("interval", self.interval, {.help = "of the loss of one new run"});
    visit("extrapolation_ratio", self.extrapolation_ratio, {.help = "over the largest fitted"});
    visit("interval_with_model_error", self.interval_with_model_error,
          {.help = "interval, widened by what hold-outs of these rows missed; null: none"});
    visit("beyond_tested", self.beyond_tested, {.help = "further out than any hold-out was"});
    visit("alternatives", self.alternatives, {.help = "what the offset does to the forecast"});
  }
};

/// A forecast beside its outcome.
struct HeldOut {
  std::string name;
  double predicted = 0;
  Interval interval;
  double measured = 0;
  /// measured / predicted - 1: positive means worse than forecast.
  double relative_error = 0;
  bool covered = false;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "the run"});
    visit("predicted", self.predicted, {.help = "before it was seen"});
    visit("interval", self.interval, {.help = "of the forecast"});
    visit("measured", self.measured, {.help = "what it became"});
    visit("relative_error", self.relative_error, {.help = "measured / predicted - 1"});
    visit("covered", self.covered, {.help = "the interval holds the measurement"});
  }
};

/// One step of the expanding window: fitted up to a budget, tested on the next rows.
struct Window {
  double fitted_to = 0;
  int rows_fitted = 0;
  int rows_tested = 0;
  /// Largest tested C over fitted_to.
  double ratio = 0;
  /// Root of the mean squared relative error, and the mean of measured / predicted - 1.
  double error = 0;
  double bias = 0;
  int covered = 0;
  /// Each tested row.
  std::vector<HeldOut> outcomes;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("fitted_to", self.fitted_to, {.help = "largest C fitted"});
    visit("rows_fitted", self.rows_fitted, {.help = "at or below it"});
    visit("rows_tested", self.rows_tested, {.help = "the next ones"});
    visit("ratio", self.ratio, {.help = "largest tested C over fitted_to"});
    visit("error", self.error, {.help = "root mean square of the relative error"});
    visit("bias", self.bias, {.help = "mean of measured / predicted - 1"});
    visit("covered", self.covered, {.help = "rows inside their interval"});
    visit("outcomes", self.outcomes, {.help = "each tested row: forecast and outcome"});
  }
};

struct Gate {
  std::vector<Window> windows;
  int tested = 0;
  int covered = 0;
  /// The furthest any tested row lay beyond what was fitted.
  double tested_ratio = 1;
  /// Standard deviation of what the law itself missed, beyond noise and parameters; in the unit of
  /// the residual.
  double model_error = 0;
  /// Why there is none, or how the rows were thinned.
  std::string note;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("windows", self.windows, {.help = "steps, smallest first"});
    visit("tested", self.tested, {.help = "rows"});
    visit("covered", self.covered, {.help = "of them inside their interval"});
    visit("tested_ratio", self.tested_ratio, {.help = "furthest a test lay beyond its fit, in C"});
    visit("model_error", self.model_error, {.help = "what the law itself missed, sd of residuals"});
    visit("note", self.note, {.help = "why there is none, or how rows were thinned"});
  }
};

/// The best size and tokens for a budget under C = 6 N D: N* = G (C/6)^a, D* = (C/6)^b / G.
struct OptimumCurve {
  double a = 0;
  double b = 0;
  double G = 0;
  Interval a_interval;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("a", self.a, {.help = "N* = G (C/6)^a"});
    visit("b", self.b, {.help = "D* = (C/6)^b / G"});
    visit("G", self.G, {.help = "N* = G (C/6)^a"});
    visit("a_interval", self.a_interval, {.help = "from the bootstrap"});
  }
};

/// One point of the band of a figure.
struct BandPoint {
  double flops = 0;
  double predicted = 0;
  Interval mean;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("flops", self.flops, {.help = "C"});
    visit("predicted", self.predicted, {.help = "loss"});
    visit("mean", self.mean, {.help = "interval of the law's mean"});
  }
};

struct LawFit {
  std::string law;
  std::string formula;
  FitOptions options;
  std::string loss_unit;
  std::string flops_convention;
  std::map<std::string, double> parameters;
  Intervals intervals;
  Verdict verdict;
  Diagnostics diagnostics;
  RowNoise row_noise;
  /// At most kRowsKept of them, evenly through the table; diagnostics.rows says how many there
  /// were.
  std::vector<Observation> rows;
  std::string data_fingerprint;
  std::vector<LeftOut> left_out;
  std::vector<Flag> flags;
  std::vector<Forecast> forecasts;
  std::vector<HeldOut> held_out;
  std::vector<BandPoint> band;
  Gate gate;
  std::optional<OptimumCurve> optimum;
  /// Parameters of bootstrap draws, in the order of `draw_names`; for plans.
  std::vector<std::string> draw_names;
  std::vector<std::vector<double>> draws;
  std::vector<std::string> warnings;
  std::string methods;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("law", self.law, {.help = "name of the law"});
    visit("formula", self.formula, {.help = "of the law"});
    visit("options", self.options, {.help = "how it was fitted"});
    visit("loss_unit", self.loss_unit, {.help = "of the rows"});
    visit("flops_convention", self.flops_convention, {.help = "of the rows"});
    visit("parameters", self.parameters, {.help = "by name"});
    visit("intervals", self.intervals, {.help = "of the parameters"});
    visit("verdict", self.verdict, {.help = "what the rows identify"});
    visit("diagnostics", self.diagnostics, {.help = "of the search"});
    visit("row_noise", self.row_noise, {.help = "behind the rows' weights"});
    visit("rows", self.rows, {.help = "that were fitted"});
    visit("data_fingerprint", self.data_fingerprint, {.help = "of the rows' data"});
    visit("left_out", self.left_out, {.help = "runs in no fit, and why"});
    visit("flags", self.flags, {.help = "rows to look at"});
    visit("forecasts", self.forecasts, {.help = "for points beyond the rows"});
    visit("held_out", self.held_out, {.help = "forecasts against outcomes"});
    visit("band", self.band, {.help = "the law from the smallest row to the furthest forecast"});
    visit("gate", self.gate, {.help = "the law tested on its own larger rows"});
    visit("optimum", self.optimum, {.help = "closed form; null: the law has none"});
    visit("draw_names", self.draw_names, {.help = "of the numbers in draws"});
    visit("draws", self.draws, {.help = "parameters of bootstrap draws"});
    visit("warnings", self.warnings, {.help = "what to know before using the numbers"});
    visit("methods", self.methods, {.help = "a paragraph that lets somebody repeat the fit"});
  }
};

/// Rows that are stored with a fit.
inline constexpr size_t kRowsKept = 20000;

/// A point to forecast, under a name.
struct Wanted {
  std::string name;
  Point point;
  /// Of the loss it will be scored by, if it is known.
  std::optional<double> standard_error = std::nullopt;
};

/// Fits `rows` and forecasts `wanted`.
/// Errors: everything require_fittable refuses; ConfigError for options; Error if a wanted point
/// lies inside the fitted range of C and of all variables of the law, where a forecast would test
/// nothing.
LawFit fit_law(const std::vector<Observation>& rows, const FitOptions& options,
               const std::vector<Wanted>& wanted = {}, const FitProgress& progress = {});

/// Fills fit.held_out from the forecasts that are in `fit` already. `forecast_of` maps the name of
/// a row to the name of its forecast; several rows (seeds) may share one.
/// Errors: Error if a row has no forecast, another unit or convention, other data, or was trained
/// on a budget that differs from the forecast's by more than 1 %.
void score_forecasts(LawFit& fit, const std::vector<Observation>& rows,
                     const std::map<std::string, std::string>& forecast_of);

/// What a fit minimises for these rows, all of one weight (row_noise.h gives them others). The law
/// is borrowed from the registry.
Target target_of(const std::vector<Observation>& rows, const FitOptions& options);

/// A paragraph with everything that somebody needs to repeat the fit, by the survey of Li et al.
/// 2025, arXiv:2502.18969.
std::string methods_paragraph(const LawFit& fit);

/// One page for a person.
std::string fit_page(const LawFit& fit);

}  // namespace windtunnel::scaling

#include "scaling/law_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "scaling/gate.h"
#include "scaling/identifiability.h"
#include "scaling/optimum.h"
#include "scaling/row_noise.h"

namespace windtunnel::scaling {

using base::Error;

Target target_of(const std::vector<Observation>& rows, const FitOptions& options) {
  Target target;
  target.law = &law_named(options.law).entry;
  target.on_log = options.on == "log";
  if (options.objective == "huber") target.huber_delta = options.huber_delta;
  target.rows.reserve(rows.size());
  std::unordered_map<std::string_view, int64_t> runs;
  for (const Observation& row : rows) {
    const Point point = point_of(row);
    Row& added = target.rows.emplace_back();
    added.point = point;
    added.index = target.rows.size() - 1;
    added.loss = response_of(*target.law, point, row.loss);
    if (row.run.empty()) continue;
    added.run = runs.emplace(row.run, static_cast<int64_t>(runs.size())).first->second;
  }
  return target;
}

namespace {

constexpr int kBandPoints = 25;
constexpr int kPinnedOffsets = 5;
/// Bootstrap draws that are stored for plans.
constexpr size_t kDrawsKept = 400;
/// Intervals that differ by more than this say that the noise is not as assumed.
constexpr double kIntervalsDisagree = 1.5;
/// Above this, a band is drawn at fewer points.
constexpr size_t kRowsOfAFineBand = 2000;

std::map<std::string, double> named(const Law& law, const Minimum& minimum) {
  std::map<std::string, double> values;
  for (size_t k = 0; k < law.coefficients.size(); ++k) {
    values[law.coefficients[k].name] = minimum.coefficients[k];
  }
  for (size_t j = 0; j < law.exponents.size(); ++j) {
    values[law.exponents[j].name] = shown_value(law.exponents[j], minimum.exponents[j]);
  }
  return values;
}

double largest_of(const Target& target, Variable variable) {
  double largest = 0;
  for (const Row& row : target.rows) largest = std::max(largest, value_of(row.point, variable));
  return largest;
}

Diagnostics diagnostics_of(const Target& target, const Search& found, const Noise& noise) {
  const Variable first = target.law->variables.front();
  double smallest = INFINITY;
  std::vector<std::array<double, 4>> distinct;
  distinct.reserve(target.rows.size());
  for (const Row& row : target.rows) {
    smallest = std::min(smallest, value_of(row.point, first));
    std::array<double, 4> where{};
    for (size_t v = 0; v < target.law->variables.size(); ++v) {
      where[v] = value_of(row.point, target.law->variables[v]);
    }
    distinct.push_back(where);
  }
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Diagnostics result;
  result.objective = found.best.objective;
  int quadratic = 0;
  const std::vector<double> off = residuals(target, found.best);
  for (size_t i = 0; i < off.size(); ++i) {
    result.residual_sum_of_squares += off[i] * off[i];
    if (target.huber_delta && std::abs(target.rows[i].weight * off[i]) <= *target.huber_delta) {
      ++quadratic;
    }
  }
  if (target.huber_delta) result.rows_in_quadratic_zone = quadratic;
  result.noise_of_one_run = noise.one_run;
  result.design_effect = noise.design_effect;
  result.rows = static_cast<int>(target.rows.size());
  result.degrees_of_freedom = noise.degrees_of_freedom;
  result.distinct_points = static_cast<int>(distinct.size());
  result.decades = std::log10(largest_of(target, first) / smallest);
  result.starts = found.starts;
  result.share_in_best_basin = static_cast<double>(found.starts_in_best_basin) / found.starts;
  result.second_basin_objective = found.second_basin;
  result.restart_gain = found.restart_gain;
  result.solver_gain = found.solver_gain;
  result.solver_agrees = found.solver_agrees;
  result.answer_is_a_start = found.answer_is_a_start;
  result.rows_searched = found.rows_searched;
  const auto& variables = target.law->variables;
  const auto reads = [&](Variable v) {
    return std::find(variables.begin(), variables.end(), v) != variables.end();
  };
  if (reads(Variable::kParameters) && reads(Variable::kTokens)) {
    std::vector<double> sizes;
    double low = INFINITY, high = 0;
    for (const Row& row : target.rows) {
      sizes.push_back(row.point.parameters);
      const double ratio = row.point.tokens / row.point.parameters;
      low = std::min(low, ratio);
      high = std::max(high, ratio);
    }
    std::sort(sizes.begin(), sizes.end());
    int distinct_sizes = 0;
    double last = 0;
    for (const double size : sizes) {
      if (size <= 1.01 * last) continue;
      ++distinct_sizes;
      last = size;
    }
    result.sizes = distinct_sizes;
    result.size_range = sizes.back() / sizes.front();
    result.tokens_per_parameter_low = low;
    result.tokens_per_parameter_high = high;
  }
  result.bounds_hit = found.best.bounds_hit;
  const double condition = condition_number(target, found.best);
  if (std::isfinite(condition)) result.condition = condition;
  return result;
}

Alternative with_pin(const Target& target, size_t coefficient, double value, const Point& point) {
  Pins pins;
  pins.coefficients.resize(target.law->coefficients.size());
  pins.coefficients[coefficient] = value;
  const Minimum found = search(target, 4, pins).best;
  Alternative result;
  const std::string& name = target.law->coefficients[coefficient].name;
  result.assumption = value == 0 ? "no " + name : name + " = " + base::format_number(value, 4);
  result.parameters = named(*target.law, found);
  result.predicted = predict(*target.law, found.coefficients, found.exponents, point);
  result.objective = found.objective;
  return result;
}

/// Without the offset, then pinned at even steps through its interval; a fit cannot tell them
/// apart, the forecast can.
std::vector<Alternative> alternatives_of(const Target& target, const LawFit& fit,
                                         const Point& point) {
  std::vector<Alternative> result;
  for (size_t k = 0; k < target.law->coefficients.size(); ++k) {
    const Coefficient& coefficient = target.law->coefficients[k];
    if (!coefficient.may_vanish) continue;
    if (fit.verdict.parameters.at(coefficient.name).verdict == identified::kIdentified) continue;
    result.push_back(with_pin(target, k, 0, point));
    double smallest_loss = INFINITY;
    for (const Row& row : target.rows) smallest_loss = std::min(smallest_loss, row.loss);
    const Interval& interval = fit.intervals.profile.at(coefficient.name);
    const double low = interval.low.value_or(0);
    const double high = std::min(interval.high.value_or(smallest_loss), 0.98 * smallest_loss);
    for (int i = low == 0 ? 1 : 0; i < kPinnedOffsets && high > low; ++i) {
      result.push_back(with_pin(target, k, low + (high - low) * i / (kPinnedOffsets - 1), point));
    }
  }
  return result;
}

Interval widened(double predicted, const Interval& interval, double model_error, const Noise& noise,
                 bool on_log);

Forecast forecast(const Target& target, const Objective& objective, const Minimum& best,
                  const Noise& noise, const LawFit& fit, const Wanted& wanted) {
  // Compute orders runs of any law. A point may also lie outside by a variable of the law alone: a
  // larger size on fewer tokens.
  double furthest = 0, largest_compute = 0;
  for (const Row& row : target.rows) {
    largest_compute = std::max(largest_compute, compute_of(row.point));
  }
  std::vector<std::string> inside;
  const auto consider = [&](const std::string& what, double at, double largest) {
    if (!(at > 0 && largest > 0)) return;
    furthest = std::max(furthest, at / largest);
    inside.push_back(what + " = " + base::format_number(at, 4) + " (fitted up to " +
                     base::format_number(largest, 4) + ")");
  };
  consider("C", compute_of(wanted.point), largest_compute);
  for (const Variable variable : target.law->variables) {
    if (variable == Variable::kFlops) continue;
    consider(variable_name(variable), value_of(wanted.point, variable),
             largest_of(target, variable));
  }
  if (!(furthest > 1)) {
    throw Error("held-out " + wanted.name + " lies inside the fitted range by " +
                base::join(inside, ", ") + "; hold out the largest");
  }
  Forecast result;
  result.name = wanted.name;
  const auto present = [](double value) {
    return value > 0 ? std::optional<double>(value) : std::nullopt;
  };
  result.parameters_active = present(wanted.point.parameters);
  result.tokens = present(wanted.point.tokens);
  result.flops = present(wanted.point.flops);
  result.predicted = predict(*target.law, best.coefficients, best.exponents, wanted.point);
  double weight = 1;
  if (fit.row_noise.is_used && wanted.standard_error) {
    const double error = *wanted.standard_error / (target.on_log ? result.predicted : 1);
    weight = *fit.row_noise.typical / std::hypot(*fit.row_noise.between_runs, error);
  }
  result.interval = forecast_interval(objective, best, noise, wanted.point, weight);
  result.extrapolation_ratio = furthest;
  result.beyond_tested = result.extrapolation_ratio > 1.01 * fit.gate.tested_ratio;
  if (fit.gate.tested > 0) {
    result.interval_with_model_error =
        widened(result.predicted, result.interval, fit.gate.model_error, noise, target.on_log);
  }
  result.alternatives = alternatives_of(target, fit, wanted.point);
  return result;
}

/// Only for laws of C alone: a band over several variables needs a path through them.
std::vector<BandPoint> band_of(const Target& target, const Objective& objective,
                               const Minimum& best, const Noise& noise,
                               const std::vector<Wanted>& wanted) {
  if (target.law->variables != std::vector<Variable>{Variable::kFlops}) return {};
  double low = INFINITY, high = 0;
  for (const Row& row : target.rows) {
    low = std::min(low, row.point.flops);
    high = std::max(high, row.point.flops);
  }
  for (const Wanted& item : wanted) high = std::max(high, item.point.flops);
  const int points = target.rows.size() > kRowsOfAFineBand ? 5 : kBandPoints;
  std::vector<BandPoint> band;
  for (int i = 0; i < points; ++i) {
    const double flops = low * std::pow(high / low, static_cast<double>(i) / (points - 1));
    const Point point{.flops = flops};
    band.push_back({flops, predict(*target.law, best.coefficients, best.exponents, point),
                    mean_interval(objective, best, noise, point)});
  }
  return band;
}

/// `interval` with the law's own error added to each side, as variances add.
Interval widened(double predicted, const Interval& interval, double model_error, const Noise& noise,
                 bool on_log) {
  const double extra = std::sqrt(noise.threshold()) * model_error;
  const auto side = [&](const std::optional<double>& end) -> std::optional<double> {
    if (!end) return std::nullopt;
    if (on_log) {
      const double half = std::log(*end / predicted);
      return predicted * std::exp(std::copysign(std::hypot(half, extra), half));
    }
    return predicted + std::copysign(std::hypot(*end - predicted, extra), *end - predicted);
  };
  return {side(interval.low), side(interval.high)};
}

/// Profile intervals of every parameter, by the name and the sign people see.
std::map<std::string, Interval> profiles_of(const Law& law, const Objective& objective,
                                            const Minimum& best, const Noise& noise,
                                            const FitProgress& progress) {
  std::map<std::string, Interval> result;
  const auto tell = [&] {
    if (progress) {
      progress("intervals", static_cast<double>(result.size()) / law.parameter_count());
    }
  };
  for (const Coefficient& item : law.coefficients) {
    tell();
    result[item.name] = profile_interval(objective, best, noise, item.name);
  }
  for (const Exponent& item : law.exponents) {
    tell();
    result[item.name] = shown_interval(item, profile_interval(objective, best, noise, item.name));
  }
  return result;
}

void add_bootstrap(const Target& target, const Minimum& best, LawFit& fit,
                   const FitProgress& progress) {
  const Law& law = *target.law;
  const Bootstrap drawn = bootstrap(target, best, fit.options.bootstrap, fit.options.confidence,
                                    static_cast<uint64_t>(fit.options.seed), progress);
  fit.diagnostics.bootstrap_failures = drawn.failures;
  size_t p = 0;
  for (const Coefficient& item : law.coefficients) {
    fit.intervals.bootstrap[item.name] = drawn.intervals[p++];
    fit.draw_names.push_back(item.name);
  }
  for (const Exponent& item : law.exponents) {
    fit.intervals.bootstrap[item.name] = shown_interval(item, drawn.intervals[p++]);
    fit.draw_names.push_back(item.name);
  }
  for (const Minimum& minimum : drawn.minima) {
    if (fit.draws.size() == kDrawsKept) break;
    std::vector<double> row = minimum.coefficients;
    for (size_t j = 0; j < law.exponents.size(); ++j) {
      row.push_back(shown_value(law.exponents[j], minimum.exponents[j]));
    }
    fit.draws.push_back(std::move(row));
  }
  std::vector<std::string> apart;
  for (const auto& [name, interval] : fit.intervals.bootstrap) {
    const Interval& profile = fit.intervals.profile.at(name);
    if (!interval.low || !interval.high || !profile.low || !profile.high) continue;
    const double by_bootstrap = *interval.high - *interval.low;
    const double by_profile = *profile.high - *profile.low;
    if (by_bootstrap <= kIntervalsDisagree * by_profile &&
        by_profile <= kIntervalsDisagree * by_bootstrap) {
      continue;
    }
    apart.push_back(name + " (" + base::format_number(by_bootstrap / by_profile, 3) + ")");
  }
  if (!apart.empty()) {
    fit.warnings.push_back(
        "bootstrap and profile intervals differ by more than 1.5 times for " +
        base::join(apart, ", ") +
        " (bootstrap over profile): the noise is not the same for all rows, or rows of one run "
        "move together; use the wider");
  }
}

void add_search_warnings(LawFit& fit) {
  const Diagnostics& d = fit.diagnostics;
  if (d.answer_is_a_start) {
    fit.warnings.push_back("the search never left its start: the numbers are no fit");
  }
  if (d.design_effect > 1) {
    fit.warnings.push_back("rows share runs: intervals are " +
                           base::format_number(std::sqrt(d.design_effect), 3) +
                           " times as wide as for rows that are runs of their own");
  }
  if (!d.solver_agrees) {
    fit.warnings.push_back("Ceres found no minimum from this one: only restarts checked it");
  }
  if (d.restart_gain > kSameBasin) {
    fit.warnings.push_back("a restart lowered the objective by " +
                           base::format_number(100 * d.restart_gain, 3) +
                           " %; raise the number of starts");
  }
}

}  // namespace

LawFit fit_law(const std::vector<Observation>& rows, const FitOptions& options,
               const std::vector<Wanted>& wanted, const FitProgress& progress) {
  const auto tell = [&](const char* stage, size_t done, size_t of) {
    if (progress) progress(stage, static_cast<double>(done) / static_cast<double>(of));
  };
  base::require_valid(base::to_json(options), base::schema_of<FitOptions>(), "fit options");
  require_fittable(rows, options.law);
  Target target = target_of(rows, options);
  const Law& law = *target.law;
  const RowNoise row_noise = weigh_rows(target, rows, options);
  const Search found = search(target, options.starts, {}, progress);
  const Minimum& best = found.best;
  const Objective objective(target);
  const Noise noise = noise_of(objective, best, options.confidence, options.noise_floor);

  LawFit fit;
  fit.law = options.law;
  fit.formula = law_named(options.law).summary;
  fit.options = options;
  fit.loss_unit = rows.front().loss_unit;
  fit.flops_convention = rows.front().flops_convention;
  fit.data_fingerprint = rows.front().data_fingerprint;
  fit.parameters = named(law, best);
  fit.diagnostics = diagnostics_of(target, found, noise);
  fit.row_noise = row_noise;
  const size_t kept = std::min(rows.size(), kRowsKept);
  for (size_t i = 0; i < kept; ++i) fit.rows.push_back(rows[i * rows.size() / kept]);
  fit.intervals.profile = profiles_of(law, objective, best, noise, progress);
  if (options.bootstrap > 0) add_bootstrap(target, best, fit, progress);
  fit.verdict = identifiability(target, best, noise, fit.intervals.profile, fit.diagnostics);
  add_search_warnings(fit);
  if (options.gate) fit.gate = run_gate(target, rows, options, progress);
  for (const Wanted& item : wanted) {
    tell("forecasts", fit.forecasts.size(), wanted.size());
    fit.forecasts.push_back(forecast(target, objective, best, noise, fit, item));
  }
  fit.band = band_of(target, objective, best, noise, wanted);
  fit.optimum = optimum_curve(fit);
  fit.methods = methods_paragraph(fit);
  return fit;
}

void score_forecasts(LawFit& fit, const std::vector<Observation>& rows,
                     const std::map<std::string, std::string>& forecast_of) {
  constexpr double kSameBudget = 0.01;
  std::vector<HeldOut> scored;
  for (const Observation& row : rows) {
    const auto name = forecast_of.find(row.name);
    const auto found = std::find_if(
        fit.forecasts.begin(), fit.forecasts.end(),
        [&](const Forecast& f) { return name != forecast_of.end() && f.name == name->second; });
    if (found == fit.forecasts.end()) {
      throw Error("held-out run " + row.name + " has no forecast to be scored against");
    }
    if (row.loss_unit != fit.loss_unit || row.flops_convention != fit.flops_convention ||
        row.data_fingerprint != fit.data_fingerprint) {
      throw Error("held-out run " + row.name +
                  " has another loss unit, FLOP convention or data set than the rows of the fit; "
                  "its forecast says nothing about it");
    }
    for (const Variable variable : law_named(fit.law).entry.variables) {
      const double planned = value_of(found->point(), variable);
      const double trained = value_of(point_of(row), variable);
      if (!(std::abs(trained / planned - 1) <= kSameBudget)) {
        throw Error("held-out run " + row.name + " was trained at " + variable_name(variable) +
                    " = " + base::format_number(trained, 4) + ", its forecast is for " +
                    base::format_number(planned, 4) + "; they cannot be compared");
      }
    }
    scored.push_back({.name = row.name,
                      .predicted = found->predicted,
                      .interval = found->interval,
                      .measured = row.loss,
                      .relative_error = row.loss / found->predicted - 1,
                      .covered = found->interval.holds(row.loss)});
  }
  fit.held_out = std::move(scored);
}

}  // namespace windtunnel::scaling

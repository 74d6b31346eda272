// The page that `fit_page` prints; law_fit.h has its contract.

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "scaling/row_noise.h"

namespace windtunnel::scaling {
namespace {

using base::format_number;

std::string number_or(const std::optional<double>& value, const char* absent) {
  return value ? format_number(*value, 4) : absent;
}

std::string text_of(const Interval& interval) {
  return number_or(interval.low, "open") + " .. " + number_or(interval.high, "open");
}

std::string percent(double share) {
  std::string text = format_number(100 * share, 3) + " %";
  return share > 0 ? "+" + text : text;
}

std::string parameters_table(const LawFit& fit) {
  const bool drawn = !fit.intervals.bootstrap.empty();
  std::vector<std::vector<std::string>> cells = {{"parameter", "value", "profile interval"}};
  if (drawn) cells[0].push_back("bootstrap interval");
  cells[0].push_back("verdict");
  for (const auto& [name, value] : fit.parameters) {
    std::vector<std::string> row = {name, format_number(value, 5),
                                    text_of(fit.intervals.profile.at(name))};
    if (drawn) row.push_back(text_of(fit.intervals.bootstrap.at(name)));
    row.push_back(fit.verdict.parameters.at(name).verdict);
    cells.push_back(std::move(row));
  }
  return base::format_table(cells);
}

std::string verdict_text(const LawFit& fit) {
  std::string text;
  for (const auto& [name, verdict] : fit.verdict.parameters) {
    if (verdict.reasons.empty()) continue;
    text += name + " is " +
            (verdict.verdict == identified::kRefused ? "not identified" : verdict.verdict) + ": " +
            base::join(verdict.reasons, "; ") + "\n";
  }
  // One cure often lifts several parameters.
  std::map<std::string, std::vector<std::string>> lifted;
  for (const auto& [name, verdict] : fit.verdict.parameters) {
    for (const std::string& cure : verdict.cures) lifted[cure].push_back(name);
  }
  for (const auto& [cure, names] : lifted) {
    text += "to identify " + base::join(names, ", ") + ": " + cure + "\n";
  }
  return text;
}

/// Over the tested rows of a window.
std::string mean_of(const Window& window, double HeldOut::*value) {
  double sum = 0;
  for (const HeldOut& outcome : window.outcomes) sum += outcome.*value;
  return window.outcomes.empty()
             ? "-"
             : format_number(sum / static_cast<double>(window.outcomes.size()), 5);
}

std::string gate_text(const LawFit& fit) {
  const Gate& gate = fit.gate;
  if (!fit.options.gate) return "";
  std::string text;
  if (!gate.windows.empty()) {
    std::vector<std::vector<std::string>> cells = {{"fitted to C", "rows", "tested", "C ratio",
                                                    "forecast", "outcome", "rms error", "bias",
                                                    "covered"}};
    for (const Window& window : gate.windows) {
      cells.push_back(
          {format_number(window.fitted_to, 3), std::to_string(window.rows_fitted),
           std::to_string(window.rows_tested), format_number(window.ratio, 3),
           mean_of(window, &HeldOut::predicted), mean_of(window, &HeldOut::measured),
           format_number(100 * window.error, 3) + " %", percent(window.bias),
           std::to_string(window.covered) + " of " + std::to_string(window.rows_tested)});
    }
    text += "\nhold-outs: fitted up to a budget, tested on the next rows (means of several)\n" +
            base::format_table(cells) + std::to_string(gate.covered) + " of " +
            std::to_string(gate.tested) + " inside their " +
            format_number(100 * fit.options.confidence) + " % interval, tested up to " +
            format_number(gate.tested_ratio, 3) + " times the fitted C; the law itself misses " +
            format_number(gate.model_error, 3) + "\n";
  }
  if (!gate.note.empty()) text += gate.note + "\n";
  return text;
}

std::string optimum_text(const LawFit& fit) {
  if (!fit.optimum) return "";
  const OptimumCurve& curve = *fit.optimum;
  std::string text = "optimum for C = 6ND: N* = " + format_number(curve.G, 4) + " (C/6)^" +
                     format_number(curve.a, 4) + ", D* = (C/6)^" + format_number(curve.b, 4) +
                     " / " + format_number(curve.G, 4);
  if (curve.a_interval.low) text += "; exponent " + text_of(curve.a_interval);
  return text + "\n";
}

std::string search_text(const LawFit& fit) {
  const Diagnostics& d = fit.diagnostics;
  std::string text = "search: objective " + format_number(d.objective, 8) + " (" +
                     fit.options.objective + " on " + fit.options.on + " L), " +
                     format_number(100 * d.share_in_best_basin, 3) + " % of " +
                     std::to_string(d.starts) + " starts in the best basin";
  if (d.second_basin_objective) {
    text += ", next basin " + format_number(*d.second_basin_objective, 8);
  }
  if (d.rows_in_quadratic_zone) {
    text += ", " + std::to_string(*d.rows_in_quadratic_zone) + " rows in the quadratic zone";
  }
  if (d.condition) text += ", condition " + format_number(*d.condition, 3);
  text += ", tolerance " + format_number(d.tolerance) + "\n";
  text += row_noise_text(fit.row_noise) + "\n";
  if (!d.bounds_hit.empty()) text += "bounds hit: " + base::join(d.bounds_hit, ", ") + "\n";
  if (d.bootstrap_failures && *d.bootstrap_failures > 0) {
    text += "bootstrap: " + std::to_string(*d.bootstrap_failures) + " of " +
            std::to_string(fit.options.bootstrap) + " draws could not be fitted\n";
  }
  return text;
}

std::string forecast_text(const LawFit& fit, const Forecast& forecast) {
  std::string text = "forecast for " + forecast.name + " (" +
                     format_number(forecast.extrapolation_ratio, 3) +
                     " times the largest fitted): " + format_number(forecast.predicted, 5) + ", " +
                     format_number(100 * fit.options.confidence) + " % interval of one run " +
                     text_of(forecast.interval) + "\n";
  if (forecast.interval_with_model_error) {
    text += "  with the law's own error as the hold-outs showed it: " +
            text_of(*forecast.interval_with_model_error) + "\n";
  }
  if (fit.options.gate && forecast.beyond_tested) {
    text += "  beyond what was tested: no hold-out lay further than " +
            format_number(fit.gate.tested_ratio, 3) + " times the fitted C\n";
  }
  if (forecast.alternatives.empty()) return text;
  std::vector<std::vector<std::string>> cells = {{"  if", "forecast", "objective"}};
  for (const Alternative& item : forecast.alternatives) {
    cells.push_back({"  " + item.assumption, format_number(item.predicted, 5),
                     format_number(item.objective, 4)});
  }
  return text + base::format_table(cells);
}

std::string held_out_text(const LawFit& fit) {
  constexpr size_t kShown = 12;
  std::string text;
  double squares = 0, worst = 0;
  size_t covered = 0;
  for (size_t i = 0; i < fit.held_out.size(); ++i) {
    const HeldOut& row = fit.held_out[i];
    squares += std::pow(row.measured - row.predicted, 2);
    worst = std::max(worst, std::abs(row.relative_error));
    covered += row.covered ? 1 : 0;
    if (i >= kShown) continue;
    text += "held out " + row.name + ": predicted " + format_number(row.predicted, 5) +
            ", measured " + format_number(row.measured, 5) + " (" + percent(row.relative_error) +
            "), " + (row.covered ? "inside" : "outside") + " the interval " +
            text_of(row.interval) + "\n";
  }
  const size_t rows = fit.held_out.size();
  if (rows > kShown) text += "and " + std::to_string(rows - kShown) + " more held out\n";
  if (rows > 1) {
    text += "held out, all " + std::to_string(rows) + ": root mean square error " +
            format_number(std::sqrt(squares / static_cast<double>(rows)), 4) + ", largest " +
            format_number(100 * worst, 3) + " %, " + std::to_string(covered) + " covered\n";
  }
  return text;
}

}  // namespace

std::string fit_page(const LawFit& fit) {
  const Diagnostics& d = fit.diagnostics;
  const auto& response = law_named(fit.law).entry.response;
  const std::string described = response ? variable_name(*response) + "*" : "loss";
  std::string text =
      fit.law + ": " + fit.formula + "\n" + std::to_string(d.rows) + " rows at " +
      std::to_string(d.distinct_points) + " places over " + format_number(d.decades, 3) +
      " decades of " + variable_name(law_named(fit.law).entry.variables.front()) + "; " +
      described + " in " + fit.loss_unit + ", C " + fit.flops_convention + "; noise of one run " +
      format_number(d.noise_of_one_run, 3) + (fit.options.on == "log" ? " relative\n" : "\n");
  text += "verdict: " + fit.verdict.overall + "\n\n" + parameters_table(fit) + "\n";
  text += verdict_text(fit);
  text += search_text(fit);
  constexpr size_t kForecastsShown = 5;
  for (size_t i = 0; i < std::min(kForecastsShown, fit.forecasts.size()); ++i) {
    text += forecast_text(fit, fit.forecasts[i]);
  }
  text += optimum_text(fit);
  text += gate_text(fit);
  text += held_out_text(fit);
  text += flags_text(fit.flags);
  text += left_out_text(fit.left_out);
  for (const std::string& warning : fit.warnings) text += "warning: " + warning + "\n";
  return text + "\n" + fit.methods + "\n";
}

}  // namespace windtunnel::scaling

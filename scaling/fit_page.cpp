// The page that `fit_page` prints; law_fit.h has its contract.

#include "base/text.h"
#include "scaling/law_fit.h"

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
  if (!d.bounds_hit.empty()) text += "bounds hit: " + base::join(d.bounds_hit, ", ") + "\n";
  if (d.restart_gain > kSameBasin) {
    text += "warning: a restart lowered the objective by " + percent(d.restart_gain) +
            "; raise the number of starts\n";
  }
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
  if (forecast.alternatives.empty()) return text;
  std::vector<std::vector<std::string>> cells = {{"  if", "forecast", "objective"}};
  for (const Alternative& item : forecast.alternatives) {
    cells.push_back({"  " + item.assumption, format_number(item.predicted, 5),
                     format_number(item.objective, 4)});
  }
  return text + base::format_table(cells);
}

}  // namespace

std::string fit_page(const LawFit& fit) {
  const Diagnostics& d = fit.diagnostics;
  std::string text = fit.law + ": " + fit.formula + "\n" + std::to_string(d.rows) + " rows at " +
                     std::to_string(d.distinct_points) + " budgets over " +
                     format_number(d.decades, 3) + " decades; loss in " + fit.loss_unit +
                     ", C by " + fit.flops_convention + "; noise of one run " +
                     format_number(d.noise_of_one_run, 3) +
                     (fit.options.on == "log" ? " relative\n" : "\n");
  text += "verdict: " + fit.verdict.overall + "\n\n" + parameters_table(fit) + "\n";
  for (const auto& [name, verdict] : fit.verdict.parameters) {
    if (verdict.reasons.empty()) continue;
    text += name + " is " +
            (verdict.verdict == identified::kNotIdentified ? "not identified" : verdict.verdict) +
            ": " + base::join(verdict.reasons, "; ") + "\n";
  }
  text += search_text(fit);
  for (const Forecast& forecast : fit.forecasts) text += forecast_text(fit, forecast);
  for (const HeldOut& row : fit.held_out) {
    text += "held out " + row.name + ": predicted " + format_number(row.predicted, 5) +
            ", measured " + format_number(row.measured, 5) + " (" + percent(row.relative_error) +
            "), " + (row.covered ? "inside" : "outside") + " the interval " +
            text_of(row.interval) + "\n";
  }
  for (const LeftOut& row : fit.left_out) {
    text += "left out: " + row.name + " (" + row.reason + ")\n";
  }
  return text;
}

}  // namespace windtunnel::scaling

#include "report/fit_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "report/figures/gnuplot.h"
#include "report/wording.h"
#include "scaling/optimum.h"
#include "scaling/row_noise.h"

namespace windtunnel::report {
namespace {

using scaling::LawFit;
using scaling::Observation;

/// More points than this make a vector file slow to open, and no clearer.
constexpr size_t kPointsDrawn = 3000;

/// Ranges with a margin, on logarithmic axes of x and y.
std::string log_ranges(const Extent& x, const Extent& y) {
  const double span = std::pow(x.high / x.low, 0.04);
  const double rise = std::pow(y.high / y.low, 0.06);
  std::string tics;
  const double step = tic_step(y.high - y.low, 6);
  for (double tic = std::max(1.0, std::floor(y.low / step)) * step; tic < y.high + step;
       tic += step) {
    tics += fmt::format("{}{:.4g}", tics.empty() ? "" : ", ", tic);
  }
  return fmt::format(
      "set logscale xy\nset format x '10^{{%L}}'\nset ytics ({})\nset xrange [{}:{}]\n"
      "set yrange [{}:{}]\n",
      tics, exact(x.low / span), exact(x.high * span), exact(y.low / rise), exact(y.high * rise));
}

std::string axes(const LawFit& fit) {
  return "set xlabel " + gnuplot_text("Training compute (FLOPs, " + fit.flops_convention + ")") +
         " noenhanced\nset ylabel " + gnuplot_text("Loss (" + words(fit.loss_unit) + ")") +
         " noenhanced\n";
}

double compute(const Observation& row) { return scaling::compute_of(scaling::point_of(row)); }

std::vector<const Observation*> drawn(const std::vector<Observation>& rows) {
  std::vector<const Observation*> result;
  const size_t step = rows.size() / kPointsDrawn + 1;
  for (size_t i = 0; i < rows.size(); i += step) result.push_back(&rows[i]);
  return result;
}

std::optional<Figure> law_figure(const LawFit& fit, const std::vector<Observation>& rows) {
  DataBlock measured("measured"), curve("curve"), band("band"), held("held"), forecast("forecast");
  Extent x, y;
  for (const Observation* row : drawn(rows)) {
    measured.add({compute(*row), row->loss});
    x.hold(compute(*row));
    y.hold(row->loss);
  }
  for (const scaling::HeldOut& row : fit.held_out) {
    const auto found = std::find_if(fit.forecasts.begin(), fit.forecasts.end(),
                                    [&](const auto& item) { return item.name == row.name; });
    if (found == fit.forecasts.end()) continue;
    const double flops = scaling::compute_of(found->point());
    held.add({flops, row.measured});
    forecast.add({flops, row.predicted, row.interval.low.value_or(row.predicted),
                  row.interval.high.value_or(row.predicted)});
    x.hold(flops);
    for (const double value : {row.measured, row.predicted}) y.hold(value);
    if (row.interval.low) y.hold(*row.interval.low);
    if (row.interval.high) y.hold(*row.interval.high);
  }
  std::string curve_title = "fitted law";
  for (const scaling::BandPoint& point : fit.band) {
    curve.add({point.flops, point.predicted});
    y.hold(point.predicted);
    if (point.mean.low && point.mean.high)
      band.add({point.flops, *point.mean.low, *point.mean.high});
  }
  if (fit.band.empty() && fit.optimum && !x.empty()) {
    // A law of size and tokens: the least loss that it sees for each budget.
    curve_title = "law at the best size";
    const scaling::Minimum best = scaling::minimum_of(fit);
    const scaling::Optimum optimum{fit.optimum->a, fit.optimum->G};
    constexpr int kSteps = 60;
    for (int i = 0; i <= kSteps; ++i) {
      const double flops = x.low * std::pow(x.high / x.low, static_cast<double>(i) / kSteps);
      const double size = optimum.parameters(flops), tokens = optimum.tokens(flops);
      const double loss = scaling::predict(scaling::law_named(fit.law).entry, best.coefficients,
                                           best.exponents, {size, tokens, flops, tokens});
      curve.add({flops, loss});
      y.hold(loss);
    }
  }
  if (x.empty() || !(x.low > 0) || !(y.low > 0)) return std::nullopt;
  Figure figure;
  std::vector<std::string> parts;
  const auto add = [&](const DataBlock& block, const std::string& part) {
    if (block.empty()) return;
    figure.commands += block.text();
    parts.push_back(part);
  };
  add(band, fmt::format("$band using 1:2:3 with filledcurves fs transparent solid 0.18 {} title "
                        "'{:.0f} % band'",
                        line_colour(colour::kBlue), 100 * fit.options.confidence));
  add(measured, points("measured", 7, rows.size() > 60 ? 0.5 : 0.9, colour::kFaint, "fitted rows"));
  add(curve, fmt::format("$curve using 1:2 with lines lw 2 {} title '{}'",
                         line_colour(colour::kBlue), curve_title));
  add(forecast, fmt::format("$forecast using 1:2:3:4 with yerrorbars pt 12 ps 1.2 lw 1.5 {} title "
                            "'forecast, held out'",
                            line_colour(colour::kGreen)));
  add(held, points("held", 5, 0.7, colour::kOrange, "measured, held out"));
  figure.commands += axes(fit) + log_ranges(x, y) + plot(parts);
  figure.alternative_text = fit.formula + fmt::format(", fitted to {} rows. ", rows.size());
  for (const auto& [name, value] : fit.parameters) {
    figure.alternative_text += fmt::format("{} {:.4g}. ", name, value);
  }
  return figure;
}

std::optional<Figure> residual_figure(const LawFit& fit, const std::vector<Observation>& rows) {
  const scaling::Minimum best = scaling::minimum_of(fit);
  const scaling::Law& law = scaling::law_named(fit.law).entry;
  DataBlock inside("inside"), zero("zero");
  Extent x, y;
  for (const Observation* row : drawn(rows)) {
    const scaling::Point point = scaling::point_of(*row);
    const double predicted = scaling::predict(law, best.coefficients, best.exponents, point);
    const double percent = 100 * (scaling::response_of(law, point, row->loss) / predicted - 1);
    inside.add({compute(*row), percent});
    x.hold(compute(*row));
    y.hold(percent);
  }
  if (x.empty() || !(x.low > 0)) return std::nullopt;
  y.hold(-0.01);
  y.hold(0.01);
  const double span = std::pow(x.high / x.low, 0.04);
  const double noise =
      fit.options.on == "log" ? 100 * std::expm1(fit.diagnostics.noise_of_one_run) : 0;
  Figure figure;
  figure.commands = inside.text() + "set xlabel " +
                    gnuplot_text("Training compute (FLOPs, " + fit.flops_convention + ")") +
                    " noenhanced\nset ylabel 'Measured over fitted (%)'\nset logscale x\n"
                    "set format x '10^{%L}'\n" +
                    fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\n", exact(x.low / span),
                                exact(x.high * span), exact(y.low * 1.1), exact(y.high * 1.1));
  std::vector<std::string> parts;
  if (noise > 0) {
    parts.push_back(fmt::format("{} with lines dt 2 lw 1.2 {} title 'noise of one run'",
                                exact(noise), line_colour(colour::kMuted)));
    parts.push_back(fmt::format("{} with lines dt 2 lw 1.2 {} notitle", exact(-noise),
                                line_colour(colour::kMuted)));
  }
  parts.push_back(fmt::format("0 with lines lw 1.2 {} notitle", line_colour(colour::kInk)));
  parts.push_back(points("inside", 7, rows.size() > 60 ? 0.5 : 0.9, colour::kBlue, "fitted rows"));
  figure.commands += plot(parts);
  figure.alternative_text =
      fmt::format("Residuals of {} rows, from {:.3g} % to {:.3g} %.", rows.size(), y.low, y.high);
  return figure;
}

/// Labels are wide, so that few fit; one alone would give no scale.
double step_of_panel(const Extent& x) {
  const double step = tic_step(x.high - x.low, 3);
  const double labels = std::floor(x.high / step) - std::ceil(x.low / step) + 1;
  return labels >= 2 ? step : tic_step(x.high - x.low, 5);
}

/// One small panel for each parameter.
std::optional<Figure> profile_figure(const LawFit& fit, const std::vector<Observation>& rows) {
  const scaling::Target target = scaling::target_of(rows, fit);
  const scaling::Objective objective(target);
  const scaling::Minimum best = scaling::minimum_of(fit);
  const scaling::Noise noise =
      scaling::noise_of(objective, best, fit.options.confidence, fit.options.noise_floor);
  if (noise.variance == 0) return std::nullopt;
  const int columns = fit.parameters.size() > 4 ? 3 : 2;
  const int lines = (static_cast<int>(fit.parameters.size()) + columns - 1) / columns;
  Figure figure;
  figure.height_factor = 0.6 * lines + 0.1;
  std::string panels;
  for (const auto& [name, value] : fit.parameters) {
    DataBlock curve("p_" + name);
    Extent x;
    for (const auto& [at, rise] : scaling::profile_curve(objective, best, noise, name)) {
      curve.add({at, rise * rise});
      x.hold(at);
    }
    if (curve.empty() || !(x.high > x.low)) continue;
    figure.commands += curve.text();
    panels += "set xlabel " + gnuplot_text(name) + " noenhanced\n" +
              fmt::format("set xrange [{}:{}]\nset yrange [0:{}]\nset xtics {}\nset ytics auto\n",
                          exact(x.low), exact(x.high), exact(2 * noise.threshold()),
                          exact(step_of_panel(x))) +
              fmt::format("set arrow 1 from {0}, graph 0 to {0}, graph 1 nohead lw 1 {1}\n",
                          exact(value), line_colour(colour::kFaint)) +
              fmt::format(
                  "plot $p_{} using 1:2 with lines lw 2 {} notitle, {} with lines dt 2 "
                  "lw 1.2 {} notitle\n",
                  name, line_colour(colour::kBlue), exact(noise.threshold()),
                  line_colour(colour::kOrange));
    figure.alternative_text += fmt::format("{}: {:.4g}. ", name, value);
  }
  if (panels.empty()) return std::nullopt;
  figure.commands += "unset key\nset ylabel 'Rise of the objective'\n";
  figure.panels =
      fmt::format("set multiplot layout {},{}\n{}unset multiplot\n", lines, columns, panels);
  return figure;
}

std::optional<Figure> staircase_figure(const LawFit& fit) {
  if (fit.gate.windows.empty()) return std::nullopt;
  DataBlock steps("steps"), bias("bias");
  Extent x, y;
  for (const scaling::Window& window : fit.gate.windows) {
    const double end = window.fitted_to * window.ratio;
    steps.add({window.fitted_to, 100 * window.error});
    steps.add({end, 100 * window.error});
    steps.gap();
    bias.add({std::sqrt(window.fitted_to * end), 100 * window.bias});
    x.hold(window.fitted_to);
    x.hold(end);
    y.hold(100 * window.error);
    y.hold(100 * window.bias);
  }
  y.hold(0);
  const double span = std::pow(x.high / x.low, 0.04), rise = 0.08 * (y.high - y.low);
  Figure figure;
  figure.commands =
      steps.text() + bias.text() + "set xlabel " +
      gnuplot_text("Compute: fitted to the left end of a step, tested up to its right end") +
      " noenhanced\nset ylabel 'Forecast error (%)'\nset logscale x\nset format x '10^{%L}'\n" +
      fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\n", exact(x.low / span),
                  exact(x.high * span), exact(y.low - rise), exact(y.high + rise)) +
      plot({fmt::format("0 with lines lw 1.2 {} notitle", line_colour(colour::kInk)),
            fmt::format("$steps using 1:2 with lines lw 2.5 {} title 'root mean square error'",
                        line_colour(colour::kBlue)),
            points("bias", 7, 0.9, colour::kOrange, "mean of measured over forecast")});
  figure.alternative_text = fmt::format("{} expanding windows, {} of {} held-out rows covered.",
                                        fit.gate.windows.size(), fit.gate.covered, fit.gate.tested);
  return figure;
}

std::optional<Figure> hull_figure(const LawFit& fit, const scaling::HullApproach& hull,
                                  const std::vector<Observation>& rows) {
  DataBlock all("all"), corners("corners");
  Extent x, y;
  for (const Observation* row : drawn(rows)) {
    all.add({compute(*row), row->loss});
    x.hold(compute(*row));
    y.hold(row->loss);
  }
  std::map<std::string_view, const Observation*> by_name;
  for (const std::string& name : hull.names) by_name[name] = nullptr;
  for (const Observation& row : rows) {
    const auto corner = by_name.find(row.name);
    if (corner != by_name.end()) corner->second = &row;
  }
  for (const std::string& name : hull.names) {
    if (const Observation* row = by_name.at(name)) corners.add({compute(*row), row->loss});
  }
  if (x.empty() || !(x.low > 0) || !(y.low > 0)) return std::nullopt;
  Figure figure;
  figure.commands =
      all.text() + corners.text() + axes(fit) + log_ranges(x, y) +
      plot({points("all", 7, 0.4, colour::kFaint, "rows"),
            fmt::format("$corners using 1:2 with linespoints pt 7 ps 0.8 lw 1.5 {} title "
                        "'lower hull, {} rows'",
                        line_colour(colour::kBlue), hull.points)});
  figure.alternative_text =
      fmt::format("The lower hull of {} rows has {} corners; N* grows as C^{:.4g}.", rows.size(),
                  hull.points, hull.parameters.exponent);
  return figure;
}

std::optional<Figure> isoflop_figure(const LawFit& fit, const scaling::IsoFlopApproach& isoflop,
                                     const std::vector<Observation>& rows) {
  DataBlock measured("measured"), curves("curves"), vertices("vertices");
  Extent x, y, budgets;
  const std::vector<const Observation*> shown = drawn(rows);
  for (const scaling::IsoFlop& budget : isoflop.budgets) {
    if (!budget.left_out.empty()) continue;
    const double log_flops = std::log10(budget.flops);
    Extent sizes;
    for (const Observation* row : shown) {
      if (std::abs(std::log(compute(*row) / budget.flops)) > 0.1) continue;
      measured.add({row->parameters_active, row->loss, log_flops});
      sizes.hold(*row->parameters_active);
      x.hold(*row->parameters_active);
      y.hold(row->loss);
    }
    if (sizes.empty()) continue;
    constexpr int kSteps = 40;
    for (int i = 0; i <= kSteps; ++i) {
      const double size =
          sizes.low * std::pow(sizes.high / sizes.low, static_cast<double>(i) / kSteps);
      const double off = std::log(size / budget.best_parameters);
      const double loss = budget.loss + budget.curvature * off * off;
      curves.add({size, loss, log_flops});
      y.hold(loss);
    }
    curves.gap();
    vertices.add({budget.best_parameters, budget.loss});
    budgets.hold(log_flops);
  }
  if (x.empty()) return std::nullopt;
  Figure figure;
  // Dark to light in even steps of lightness, for any colour vision.
  figure.commands =
      measured.text() + curves.text() + vertices.text() + "set xlabel 'Parameters N'\nset ylabel " +
      gnuplot_text("Loss (" + words(fit.loss_unit) + ")") + " noenhanced\n" + log_ranges(x, y) +
      "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962')\n"
      "set cblabel 'Training compute (FLOPs)'\nset format cb '10^{%.1f}'\n" +
      fmt::format("set cbrange [{}:{}]\n", exact(budgets.low), exact(budgets.high + 1e-9)) +
      plot({"$curves using 1:2:3 with lines lw 1.5 lc palette title 'parabola of a budget'",
            "$measured using 1:2:3 with points pt 7 ps 0.6 lc palette title 'rows'",
            points("vertices", 9, 1.3, colour::kOrange, "vertex")});
  figure.alternative_text = fmt::format("{} budgets; N* grows as C^{:.4g}.", isoflop.budgets.size(),
                                        isoflop.parameters.exponent);
  return figure;
}

}  // namespace

void write_fit_figures(const LawFit& fit, const scaling::Approaches* approaches,
                       const std::vector<Observation>& rows, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const char* title, const std::optional<Figure>& figure) {
    if (figure) print_figure(name, title, *figure, folder);
  };
  write("law", "Scaling law", law_figure(fit, rows));
  write("residuals", "Residuals", residual_figure(fit, rows));
  write("profiles", "Profile of each parameter", profile_figure(fit, rows));
  write("staircase", "Hold-outs", staircase_figure(fit));
  if (approaches == nullptr) return;
  if (approaches->hull) write("hull", "Lower hull", hull_figure(fit, *approaches->hull, rows));
  if (approaches->isoflop) {
    write("isoflop", "Iso-FLOP parabolas", isoflop_figure(fit, *approaches->isoflop, rows));
  }
}

}  // namespace windtunnel::report

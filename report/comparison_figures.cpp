#include "report/comparison_figures.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "report/figures/gnuplot.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

using scaling::GainTrend;
using scaling::GainVerdict;
using scaling::SizeGain;
using scaling::Sweep;

constexpr Colour kArms[] = {colour::kBlue, colour::kOrange, colour::kGreen, colour::kPurple,
                            colour::kYellow};

double percent(double value) { return 100 * value; }

/// What the axes of gains must show.
struct Axes {
  Extent flops;
  Extent gains;
};

/// Marks with the standard error of their pairs, where the noise is known.
DataBlock marks_of(const GainVerdict& arm, const std::string& block, Axes& axes) {
  DataBlock marks(block);
  for (const SizeGain& size : arm.sizes) {
    if (!(size.point.flops > 0)) continue;
    const double error = arm.trend.noise.value_or(0) /
                         std::sqrt(static_cast<double>(std::max<int64_t>(size.pairs, 1)));
    marks.add({size.point.flops, percent(size.gain), percent(size.gain - error),
               percent(size.gain + error)});
    axes.flops.hold(size.point.flops);
    for (const double end : {size.gain - error, size.gain + error}) axes.gains.hold(percent(end));
  }
  return marks;
}

/// The line to kGainHorizon times the largest compute, and its intervals at both.
void add_trend(const GainVerdict& arm, DataBlock& line, DataBlock& intervals, Axes& axes) {
  const GainTrend& trend = arm.trend;
  if (!trend.slope || !trend.at_largest || axes.flops.empty()) return;
  double largest = 0, smallest = INFINITY;
  for (const SizeGain& size : arm.sizes) {
    largest = std::max(largest, size.point.flops);
    smallest = std::min(smallest, size.point.flops);
  }
  const double horizon = scaling::kGainHorizon * largest;
  const auto gain_at = [&](double flops) {
    return *trend.at_largest + *trend.slope * std::log(flops / largest);
  };
  for (const double flops : {smallest, largest, horizon}) {
    line.add({flops, percent(gain_at(flops))});
    axes.gains.hold(percent(gain_at(flops)));
  }
  axes.flops.hold(horizon);
  const auto add = [&](double flops, const scaling::Interval& interval) {
    if (!interval.low || !interval.high) return;
    intervals.add({flops, percent(*interval.low), percent(*interval.high)});
    axes.gains.hold(percent(*interval.low));
    axes.gains.hold(percent(*interval.high));
  };
  add(largest, trend.at_largest_interval);
  add(horizon, trend.at_horizon_interval);
}

/// The values that were tried, where they are few: powers of ten would leave the axis bare.
std::string tics_at_values(const Sweep& sweep) {
  constexpr size_t kMost = 12;
  std::set<double> values;
  for (const scaling::SweepRow& row : sweep.rows) values.insert(row.value);
  if (values.size() > kMost) return "";
  std::string tics;
  for (const double value : values) {
    tics += (tics.empty() ? "" : ", ") + fmt::format("'{:.4g}' {}", value, exact(value));
  }
  return "set xtics (" + tics + ")\n";
}

void print_or_refuse(const char* name, const char* title, const std::optional<Figure>& figure,
                     const std::filesystem::path& folder) {
  if (!figure) throw base::Error(std::string("there is nothing to draw for ") + title);
  std::filesystem::create_directories(folder);
  print_figure(name, title, *figure, folder);
}

}  // namespace

std::optional<Figure> gains_figure(const std::vector<GainVerdict>& gains, const Layout& layout) {
  Figure figure;
  Axes axes;
  axes.gains.hold(0);
  std::vector<std::string> lines, marks;
  for (size_t i = 0; i < gains.size(); ++i) {
    const GainVerdict& arm = gains[i];
    const std::string index = std::to_string(i);
    const Colour& colour = kArms[i % std::size(kArms)];
    const DataBlock sizes = marks_of(arm, "sizes" + index, axes);
    if (sizes.empty()) continue;
    DataBlock line("line" + index), intervals("intervals" + index);
    add_trend(arm, line, intervals, axes);
    figure.commands += sizes.text();
    if (!line.empty()) {
      figure.commands += line.text();
      lines.push_back(
          fmt::format("$line{} using 1:2 with lines lw 2 {} notitle", index, line_colour(colour)));
    }
    if (!intervals.empty()) {
      figure.commands += intervals.text();
      lines.push_back(fmt::format(
          "$intervals{} using 1:(($2+$3)/2):2:3 with yerrorbars pt 0 lw 1 dt 2 {} {}", index,
          line_colour(colour), lines.size() > 1 ? "notitle" : "title 'interval of the trend'"));
    }
    marks.push_back(
        fmt::format("$sizes{} using 1:2:3:4 with yerrorbars pt {} ps 1 lw 1.5 {} title {} "
                    "noenhanced",
                    index, 5 + 2 * (i % 5), line_colour(colour),
                    gnuplot_text(arm.changed + ": " + arm.verdict)));
    figure.alternative_text +=
        fmt::format("{} against {}: {}. ", arm.changed, arm.baseline, arm.verdict);
    for (const SizeGain& size : arm.sizes) {
      figure.alternative_text += fmt::format("{}: {:+.3g} %. ", size.size, percent(size.gain));
    }
  }
  if (marks.empty()) return std::nullopt;
  const double span = std::pow(axes.flops.high / axes.flops.low, 0.04) * 1.02;
  axes.gains.widen(0.08, 1e-3);
  lines.insert(lines.begin(),
               fmt::format("0 with lines lw 1.2 {} notitle", line_colour(colour::kInk)));
  lines.insert(lines.end(), marks.begin(), marks.end());
  // Names of variants with their verdicts are long.
  figure.commands += fmt::format("set key maxcols {}\n", layout.is_narrow ? 1 : 2);
  figure.commands +=
      fmt::format(
          "set xlabel 'Training compute of the baseline (FLOPs)'\nset ylabel 'Gain over {} (%)'"
          " noenhanced\nset logscale x\nset format x '10^{{%L}}'\nset xrange [{}:{}]\nset "
          "yrange [{}:{}]\n",
          one_line(gains.front().baseline), exact(axes.flops.low / span),
          exact(axes.flops.high * span), exact(axes.gains.low), exact(axes.gains.high)) +
      plot(lines);
  figure.caption = fmt::format(
      "Above 0 the variant is better. Marks hold the standard error of their pairs of seeds; "
      "dashed "
      "bars are the {:.0f} % intervals of the trend at the largest size and at {:g} times its "
      "compute, "
      "which the verdict reads.",
      100 * gains.front().confidence, scaling::kGainHorizon);
  return figure;
}

std::optional<Figure> sweep_figure(const Sweep& sweep) {
  DataBlock rows("rows"), curve("curve"), minimum("minimum");
  Extent values, losses;
  for (const scaling::SweepRow& row : sweep.rows) {
    rows.add({row.value, row.loss});
    values.hold_positive(row.value);
    losses.hold(row.loss);
  }
  if (values.empty()) return std::nullopt;
  const double span = std::pow(values.high / values.low, 0.05);
  Figure figure;
  std::vector<std::string> parts;
  if (sweep.minimum && sweep.loss_at_minimum) {
    constexpr int kSteps = 60;
    for (int i = 0; i <= kSteps; ++i) {
      const double value =
          values.low * std::pow(values.high / values.low, static_cast<double>(i) / kSteps);
      const double off = std::log(value / *sweep.minimum);
      const double loss = *sweep.loss_at_minimum * std::exp(sweep.curvature * off * off);
      curve.add({value, loss});
      losses.hold(loss);
    }
    const double at = std::clamp(*sweep.minimum, values.low, values.high);
    minimum.add({at, sweep.loss_at_minimum});
    losses.hold(sweep.loss_at_minimum);
    figure.commands += curve.text() + minimum.text();
    parts.push_back(fmt::format("$curve using 1:2 with lines lw 2 {} title 'parabola'",
                                line_colour(colour::kBlue)));
    // An end that is open has no cap: the line runs to the edge of the figure.
    const auto& [low, high] = sweep.minimum_interval;
    DataBlock line("interval"), caps("caps");
    line.add({low.value_or(values.low / span), sweep.loss_at_minimum});
    line.add({high.value_or(values.high * span), sweep.loss_at_minimum});
    for (const auto& end : {low, high}) {
      if (end) caps.add({end, sweep.loss_at_minimum});
    }
    figure.commands += line.text();
    parts.push_back(
        fmt::format("$interval using 1:2 with lines lw 2 {} title '{:.0f} % interval{}'",
                    line_colour(colour::kOrange), 100 * sweep.confidence,
                    low && high   ? ""
                    : low || high ? ", one end open"
                                  : ", open"));
    if (!caps.empty()) {
      figure.commands += caps.text();
      parts.push_back(fmt::format("$caps using 1:2 with points pt 2 ps 0.8 lw 2 {} notitle",
                                  line_colour(colour::kOrange)));
    }
    parts.push_back(points("minimum", 9, 1.4, colour::kOrange, "minimum"));
  }
  figure.commands += rows.text();
  parts.push_back(points("rows", 7, 0.9, colour::kInk, "runs"));
  losses.widen(0.08, 1e-6);
  figure.commands +=
      "set xlabel " + gnuplot_text(sweep.quantity) +
      " noenhanced\nset ylabel 'Loss'\nset logscale x\n" + tics_at_values(sweep) +
      fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\n", exact(values.low / span),
                  exact(values.high * span), exact(losses.low), exact(losses.high)) +
      plot(parts);
  figure.alternative_text = fmt::format("{} runs over {}: {}, {}.", sweep.rows.size(),
                                        sweep.quantity, sweep.verdict, sweep.reason);
  return figure;
}

void write_gains_figure(const std::vector<GainVerdict>& gains,
                        const std::filesystem::path& folder) {
  print_or_refuse("gains", "Gains size by size", gains_figure(gains, wide_layout()), folder);
}

void write_sweep_figure(const Sweep& sweep, const std::filesystem::path& folder) {
  print_or_refuse("sweep", "Sweep", sweep_figure(sweep), folder);
}

}  // namespace windtunnel::report

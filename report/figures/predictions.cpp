// What was predicted before each run against what was measured after it.

#include <fmt/format.h>

#include <algorithm>

#include "report/figures/gnuplot.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

/// Above this many, and on narrow figures, only misses are labelled.
constexpr int64_t kMaximumLabels = 14;

/// Always holds 0, no change.
void add_point(DataBlock& block, const study::Prediction& predicted,
               const study::Decision& measured) {
  const double delta = *measured.delta_bits_per_byte;
  block.add({predicted.delta_bits_per_byte, delta, predicted.interval_low, predicted.interval_high,
             finite(measured.interval_low).value_or(delta),
             finite(measured.interval_high).value_or(delta)});
}

std::optional<Figure> draw(const StudyData& data, const Layout& layout) {
  DataBlock covered("covered"), missed("missed"), labels("labels");
  const study::Calibration total = data.calibration.front();
  Extent predictions{0, 0}, measurements{0, 0};
  for (const auto& view : data.experiments) {
    if (!view.decided() || !finite(view.experiment.decision->delta_bits_per_byte)) continue;
    const study::Decision& measured = *view.experiment.decision;
    const study::Prediction& predicted = view.experiment.proposal.prediction;
    const bool is_covered = measured.prediction_covered.value_or(false);
    add_point(is_covered ? covered : missed, predicted, measured);
    const double delta = *measured.delta_bits_per_byte;
    predictions.hold(predicted.interval_low);
    predictions.hold(predicted.interval_high);
    measurements.hold(delta);
    measurements.hold(finite(measured.interval_low).value_or(delta));
    measurements.hold(finite(measured.interval_high).value_or(delta));
    if (!is_covered || (!layout.is_narrow && total.decided <= kMaximumLabels)) {
      labels.add({predicted.delta_bits_per_byte, delta}, std::to_string(view.experiment.number));
    }
  }
  if (covered.empty() && missed.empty()) return std::nullopt;
  predictions.widen(0.06, 1e-4);
  measurements.widen(0.06, 1e-4);

  std::string blocks;
  std::vector<std::string> parts = {fmt::format(
      "x with lines lw 1.5 dt (6,4) {} title 'exactly as predicted'", line_colour(colour::kMuted))};
  const auto add_series = [&](const DataBlock& block, const std::string& name, int point_type,
                              const Colour& colour, const char* title) {
    if (block.empty()) return;
    blocks += block.text();
    parts.push_back(fmt::format("${} using 1:2:3:4 with xerrorbars pt 0 lw 1 {} notitle", name,
                                line_colour(colour)));
    parts.push_back(fmt::format("${} using 1:2:5:6 with yerrorbars pt 0 lw 1 {} notitle", name,
                                line_colour(colour::kFaint)));
    parts.push_back(fmt::format("${} using 1:2 with points pt {} ps 0.9 lw 1.5 {} title '{}'", name,
                                point_type, line_colour(colour), title));
  };
  add_series(covered, "covered", 7, colour::kBlue, "inside 80 % interval");
  add_series(missed, "missed", 9, colour::kOrange, "outside");
  if (!labels.empty()) {
    blocks += labels.text();
    parts.push_back(
        fmt::format("$labels using 1:2:3 with labels left offset 0.7,0.6 tc rgb '{}' "
                    "noenhanced notitle",
                    colour::kMuted.light));
  }
  Figure figure;
  figure.commands = blocks +
                    "set xlabel 'Predicted change (bits per byte)'\n"
                    "set ylabel 'Measured change (bits per byte)'\n"
                    "set xtics " +
                    exact(tic_step(predictions.high - predictions.low, layout.is_narrow ? 4 : 8)) +
                    "\n"
                    "set format x '%+.3g'\nset format y '%+.3g'\n" +
                    fmt::format(
                        "set xrange [{0}:{1}]\nset yrange [{2}:{3}]\n"
                        "set arrow from {0},0 to {1},0 nohead {4}\n"
                        "set arrow from 0,{2} to 0,{3} nohead {4}\n",
                        exact(predictions.low), exact(predictions.high), exact(measurements.low),
                        exact(measurements.high), line_colour(colour::kFaint)) +
                    plot(parts);
  figure.alternative_text =
      fmt::format("{} of {} measured changes lie inside their predicted 80 % interval.",
                  total.covered, total.measured);
  figure.caption =
      "Negative is better. Horizontal bars are the predicted 80 % intervals, vertical ones the "
      "intervals of the measured difference; numbers are experiments. A good forecaster has four "
      "points in five inside, close to the dashed line.";
  return figure;
}

const base::Registration<FigureKind> registration{
    {.name = "predictions",
     .summary = "predicted against measured changes",
     .entry = {.order = 4,
               .title = "Predicted against measured",
               .draw = draw,
               .absent = "This figure appears once the first experiment has been measured."}}};

}  // namespace
}  // namespace windtunnel::report

// Training loss over measured training time: the incumbent against the baseline, the other
// experiments faint behind them.

#include <fmt/format.h>

#include <algorithm>

#include "report/figures/gnuplot.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

using Curve = std::vector<study::CurvePoint>;

constexpr size_t kMaximumPoints = 160;

/// The curve of the first run that has one.
const Curve* curve_of(const ExperimentView& view, const StudyData& data) {
  for (const auto& run : view.runs) {
    const auto found = data.curves.find(run.id);
    if (found != data.curves.end() && found->second.size() >= 2) return &found->second;
  }
  return nullptr;
}

void add_curve(DataBlock& block, const Curve& curve) {
  const size_t stride = 1 + (curve.size() - 1) / kMaximumPoints;
  for (size_t i = 0; i < curve.size(); ++i) {
    const bool is_shown = i % stride == 0 || i + 1 == curve.size();
    if (is_shown && finite(curve[i].loss_nats_per_token)) {
      block.add({curve[i].training_seconds, curve[i].loss_nats_per_token});
    }
  }
  block.gap();
}

std::optional<double> last_loss(const Curve& curve) {
  for (auto point = curve.rbegin(); point != curve.rend(); ++point) {
    if (const auto loss = finite(point->loss_nats_per_token)) return loss;
  }
  return std::nullopt;
}

/// The first twentieth falls from the logarithm of the vocabulary and would flatten the rest.
void widen(const Curve& curve, double& low, double& high) {
  for (const auto& point : curve) {
    const auto loss = finite(point.loss_nats_per_token);
    if (!loss || point.progress < 0.05) continue;
    low = std::min(low, *loss);
    high = std::max(high, *loss);
  }
}

std::optional<Figure> draw(const StudyData& data, const Layout&) {
  const int64_t incumbent = data.incumbent();
  const Curve* baseline_curve = curve_of(data.baseline, data);
  const Curve* incumbent_curve = incumbent > 0 ? curve_of(*data.find(incumbent), data) : nullptr;
  DataBlock others("others"), baseline("baseline"), best("best");
  double low = 1e300;
  double high = -1e300;
  for (const auto& view : data.experiments) {
    const Curve* curve = curve_of(view, data);
    if (curve == nullptr || curve == incumbent_curve) continue;
    add_curve(others, *curve);
    if (const auto loss = last_loss(*curve)) low = std::min(low, *loss);
  }
  std::string description;
  std::vector<std::string> parts;
  std::string blocks;
  if (!others.empty()) {
    blocks += others.text();
    parts.push_back(fmt::format("$others using 1:2 with lines lw 1 {} title 'others'",
                                line_colour(colour::kFaint)));
  }
  if (baseline_curve != nullptr) {
    add_curve(baseline, *baseline_curve);
    widen(*baseline_curve, low, high);
    blocks += baseline.text();
    parts.push_back(fmt::format("$baseline using 1:2 with lines lw 2 dt (9,4) {} title 'baseline'",
                                line_colour(colour::kOrange)));
    description +=
        fmt::format("The baseline ends at {} nats per token. ", number(last_loss(*baseline_curve)));
  }
  if (incumbent_curve != nullptr) {
    add_curve(best, *incumbent_curve);
    widen(*incumbent_curve, low, high);
    blocks += best.text();
    parts.push_back(fmt::format("$best using 1:2 with lines lw 2.5 {} title 'best (no. {})'",
                                line_colour(colour::kBlue), incumbent));
    description += fmt::format("The incumbent, experiment {}, ends at {}. ", incumbent,
                               number(last_loss(*incumbent_curve)));
  }
  if (parts.empty() || high < low) return std::nullopt;
  const double margin = 0.05 * (high - low) + 0.01;
  Figure figure;
  figure.commands = blocks +
                    "set xlabel 'Measured training time (seconds)'\n"
                    "set ylabel 'Training loss (nats per token)'\n" +
                    fmt::format("set xrange [0:*]\nset yrange [{}:{}]\n", exact(low - margin),
                                exact(high + margin)) +
                    plot(parts);
  figure.alternative_text = description;
  figure.caption =
      "The first seed of each experiment. The axis leaves out the first twentieth of a run, where "
      "every loss falls from the logarithm of the vocabulary.";
  return figure;
}

const base::Registration<FigureKind> registration{
    {.name = "loss_curves",
     .summary = "training loss over training time",
     .entry = {.order = 2,
               .title = "Training loss",
               .draw = draw,
               .absent = "Loss curves appear once a baseline run has trained."}}};

}  // namespace
}  // namespace windtunnel::report

// How evenly the routers spread tokens while a run trains: at each point the largest share of an
// expert and the least entropy of any layer, for the incumbent and the baseline.

#include <fmt/format.h>

#include <algorithm>

#include "report/figures/gnuplot.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

using Curve = std::vector<study::CurvePoint>;

constexpr size_t kMaximumPoints = 160;

/// The worst of all layers at one point.
struct Worst {
  double max_load = 0;
  double load_entropy = 1;
};

std::optional<Worst> worst_of(const study::CurvePoint& point) {
  std::optional<Worst> worst;
  for (const study::LayerPoint& layer : point.layers) {
    if (!layer.router) continue;
    if (!worst) worst.emplace();
    worst->max_load = std::max(worst->max_load, layer.router->max_load);
    worst->load_entropy = std::min(worst->load_entropy, layer.router->load_entropy);
  }
  return worst;
}

/// The curve of the first run with routers, or nullptr.
const Curve* curve_of(const ExperimentView& view, const StudyData& data) {
  for (const auto& run : view.runs) {
    const auto found = data.curves.find(run.id);
    if (found == data.curves.end() || found->second.size() < 2) continue;
    if (worst_of(found->second.back())) return &found->second;
  }
  return nullptr;
}

DataBlock block_of(const std::string& name, const Curve& curve) {
  DataBlock block(name);
  const size_t stride = 1 + (curve.size() - 1) / kMaximumPoints;
  for (size_t i = 0; i < curve.size(); ++i) {
    const auto worst = worst_of(curve[i]);
    const bool is_shown = i % stride == 0 || i + 1 == curve.size();
    if (worst && is_shown) {
      block.add({curve[i].training_seconds, worst->max_load, worst->load_entropy});
    }
  }
  return block;
}

std::optional<Figure> draw(const StudyData& data, const Layout&) {
  std::string blocks, description;
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const ExperimentView& view, const std::string& title,
                       const Colour& colour, double width) {
    const Curve* curve = curve_of(view, data);
    if (curve == nullptr) return;
    blocks += block_of(name, *curve).text();
    parts.push_back(fmt::format("${} using 1:3 with lines lw {} {} title '{}: least entropy'", name,
                                width, line_colour(colour), title));
    parts.push_back(
        fmt::format("${} using 1:2 with lines lw {} dt (9,4) {} title '{}: largest share'", name,
                    width, line_colour(colour), title));
    const auto last = worst_of(curve->back());
    description += fmt::format(
        "In the {} the worst layer ends with a load entropy of {} and a largest share of {}. ",
        title, number(last->load_entropy, 3), number(last->max_load, 3));
  };
  add("baseline", data.baseline, "baseline", colour::kOrange, 1.5);
  const int64_t incumbent = data.incumbent();
  if (incumbent > 0) {
    add("best", *data.find(incumbent), fmt::format("best (no. {})", incumbent), colour::kBlue, 2.5);
  }
  if (parts.empty()) return std::nullopt;
  Figure figure;
  figure.commands = blocks +
                    "set xlabel 'Measured training time (seconds)'\n"
                    "set ylabel 'Load of the worst layer'\n"
                    "set xrange [0:*]\nset yrange [0:1]\n" +
                    plot(parts);
  figure.alternative_text = description;
  figure.caption =
      "Router health of the first seed, at each point over the tokens since the last one. Solid: "
      "the entropy of the experts' load over that of an even one, in the layer where it is least. "
      "Dashed: the share of the busiest expert, in the layer where it is largest. Lines that meet "
      "mean that few experts do the work.";
  return figure;
}

const base::Registration<FigureKind> registration{
    {.name = "router_health",
     .summary = "load of experts over training time",
     .entry = {.order = 3,
               .title = "Router health",
               .draw = draw,
               .absent = "Router health appears once a run with expert layers has trained."}}};

}  // namespace
}  // namespace windtunnel::report

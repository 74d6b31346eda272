// Every experiment against its number, the staircase of bests through the kept ones, and the noise
// of a single run as a band around it.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/bests.h"
#include "report/figures/gnuplot.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

struct Range {
  double low;
  double high;
};

/// From the best to a few steps above the baseline: one bad idea must not flatten the staircase.
Range visible_range(const StudyData& data, const std::vector<Best>& steps, double noise) {
  const double start = steps.front().bits_per_byte;
  double low = start;
  double high = start;
  for (const Best& best : steps) low = std::min(low, best.bits_per_byte);
  const double ceiling = start + 2 * (start - low) + 6 * noise + 0.002 * start;
  for (const auto& view : data.experiments) {
    if (!view.level) continue;
    low = std::min(low, *view.level);
    high = std::max(high, std::min(*view.level, ceiling));
  }
  low -= noise;
  high += noise;
  const double margin = std::max(0.08 * (high - low), 0.001 * start);
  return {low - 1.5 * margin, high + margin};
}

/// The staircase as corners, one column for each offset from it.
void add_steps(DataBlock& block, const std::vector<Best>& steps, double last, double half_width) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const double level = steps[i].bits_per_byte;
    const double end = i + 1 < steps.size() ? static_cast<double>(steps[i + 1].experiment) : last;
    block.add(
        {static_cast<double>(steps[i].experiment), level, level - half_width, level + half_width});
    block.add({end, level, level - half_width, level + half_width});
  }
}

/// Marks differ in shape and colour.
struct Mark {
  const char* title;
  int point_type;
  double size;
  const Colour* colour;
};

/// In the order of the key.
const std::vector<std::pair<std::string, Mark>>& marks() {
  static const std::vector<std::pair<std::string, Mark>> all = {
      {study::verdict::kKeep, {"kept", 7, 0.9, &colour::kBlue}},
      {study::verdict::kDiscard, {"discarded", 6, 0.8, &colour::kMuted}},
      {study::verdict::kRepair, {"to repair", 9, 0.9, &colour::kYellow}},
      {study::verdict::kFailed, {"failed", 2, 0.9, &colour::kOrange}},
      {study::verdict::kVetoed, {"vetoed", 1, 1.0, &colour::kPurple}},
      {"pending", {"open", 4, 0.8, &colour::kGreen}}};
  return all;
}

std::string describe(const std::vector<Best>& steps, const StudyData& data) {
  std::string text =
      fmt::format("{} on the axis from 0, the baseline at {} bits per byte. ",
                  plural(static_cast<int64_t>(data.experiments.size()), "experiment"),
                  bits(steps.front().bits_per_byte));
  for (size_t i = 1; i < steps.size(); ++i) {
    text += fmt::format("Experiment {} lowers the best to {}. ", steps[i].experiment,
                        bits(steps[i].bits_per_byte));
  }
  return steps.size() > 1 ? text : text + "No experiment was kept.";
}

std::optional<Figure> draw(const StudyData& data, const Layout& layout) {
  const std::vector<Best> steps = bests(data);
  if (steps.empty()) return std::nullopt;
  const double noise = data.noise_bits_per_byte().value_or(0);
  const Range range = visible_range(data, steps, noise);
  const double last = data.experiments.empty()
                          ? 1.0
                          : static_cast<double>(data.experiments.back().experiment.number) + 0.5;

  DataBlock stairs("stairs"), whiskers("whiskers"), labels("labels"), above("above");
  add_steps(stairs, steps, last, noise);
  std::map<std::string, DataBlock> points;
  for (const auto& [verdict, mark] : marks()) points.emplace(verdict, DataBlock(verdict));
  points.at(study::verdict::kKeep).add({0, steps.front().bits_per_byte});
  labels.add({0, steps.front().bits_per_byte}, "0");
  for (const auto& view : data.experiments) {
    const auto x = static_cast<double>(view.experiment.number);
    const auto known = points.find(view.verdict());
    DataBlock& block = known == points.end() ? points.at("pending") : known->second;
    if (!view.level) {
      // Nothing was measured: a mark on the floor of the figure.
      if (view.decided()) block.add({x, range.low + 0.03 * (range.high - range.low)});
    } else if (*view.level > range.high) {
      above.add({x, range.high - 0.03 * (range.high - range.low)});
    } else {
      block.add({x, *view.level});
      if (view.kept()) labels.add({x, *view.level}, std::to_string(view.experiment.number));
      if (!view.decided()) continue;
      const study::Decision& decision = *view.experiment.decision;
      const double shift = *view.level - decision.delta_bits_per_byte.value_or(0);
      if (finite(decision.interval_low) && finite(decision.interval_high)) {
        whiskers.add(
            {x, *view.level, shift + *decision.interval_low, shift + *decision.interval_high});
      }
    }
  }

  std::vector<std::string> parts;
  if (noise > 0) {
    parts.push_back(
        fmt::format("$stairs using 1:3:4 with filledcurves fs transparent solid 0.15 {} "
                    "title 'noise of one run'",
                    line_colour(colour::kBlue)));
  }
  if (!whiskers.empty()) {
    parts.push_back(fmt::format("$whiskers using 1:2:3:4 with yerrorbars pt 0 lw 1 {} notitle",
                                line_colour(colour::kFaint)));
  }
  parts.push_back(fmt::format("$stairs using 1:2 with lines lw 2.5 {} title 'best so far'",
                              line_colour(colour::kBlue)));
  std::string blocks = stairs.text() + (whiskers.empty() ? "" : whiskers.text());
  for (const auto& [verdict, mark] : marks()) {
    const DataBlock& block = points.at(verdict);
    if (block.empty()) continue;
    blocks += block.text();
    parts.push_back(fmt::format("${} using 1:2 with points pt {} ps {} lw 2 {} title '{}'", verdict,
                                mark.point_type, mark.size, line_colour(*mark.colour), mark.title));
  }
  if (!above.empty()) {
    blocks += above.text();
    parts.push_back(fmt::format("$above using 1:2 with points pt 8 ps 1 lw 1.5 {} title 'above'",
                                line_colour(colour::kMuted)));
  }
  blocks += labels.text();
  parts.push_back(
      fmt::format("$labels using 1:2:3 with labels offset 0,-0.9 tc rgb '{}' "
                  "noenhanced notitle",
                  colour::kBlue.light));

  Figure figure;
  figure.commands = blocks +
                    "set xlabel 'Experiment number (0: baseline)'\n"
                    "set ylabel 'Validation bits per byte'\n" +
                    fmt::format("set xrange [-0.5:{}]\nset yrange [{}:{}]\n", exact(last),
                                exact(range.low), exact(range.high)) +
                    "set xtics " + exact(std::max(1.0, tic_step(last, layout.is_narrow ? 8 : 16))) +
                    "\n" + plot(parts);
  figure.alternative_text = describe(steps, data);
  figure.caption =
      "Lower is better. Each experiment stands at its parent's level plus the mean paired "
      "difference over shared seeds; whiskers are that difference's interval. A step is a change "
      "that was kept. Marks at the floor were never measured.";
  return figure;
}

const base::Registration<FigureKind> registration{
    {.name = "staircase",
     .summary = "bests over the experiments",
     .entry = {.order = 1,
               .title = "Staircase of bests",
               .draw = draw,
               .absent = "The staircase appears once the first baseline run has finished."}}};

}  // namespace
}  // namespace windtunnel::report

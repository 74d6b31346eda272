// Seconds per phase, summed over the runs of each purpose.

#include "report/phases.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/figures/gnuplot.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

const Colour* const kColours[] = {&colour::kPurple, &colour::kYellow, &colour::kBlue,
                                  &colour::kOrange, &colour::kGreen,  &colour::kFaint};
static_assert(std::size(kColours) == kPhaseNames.size());

constexpr double kHalfBar = 0.3;

std::optional<Figure> draw(const StudyData& data, const Layout& layout) {
  const std::vector<PhaseTotals> all = phase_totals(data);
  if (all.empty()) return std::nullopt;
  const auto rows = static_cast<double>(all.size());
  double longest = 0;
  std::vector<double> starts(all.size(), 0.0);
  std::string blocks;
  std::string description;
  std::vector<std::string> parts;
  for (size_t phase = 0; phase < kPhaseNames.size(); ++phase) {
    DataBlock bars("phase" + std::to_string(phase));
    for (size_t row = 0; row < all.size(); ++row) {
      const auto seconds = all[row].seconds[phase];
      if (!seconds || *seconds <= 0) continue;
      const double start = starts[row];
      const double end = starts[row] = start + *seconds;
      const double y = rows - static_cast<double>(row);
      bars.add({(start + end) / 2, y, start, end, y - kHalfBar, y + kHalfBar});
      longest = std::max(longest, end);
    }
    if (bars.empty()) continue;
    blocks += bars.text();
    parts.push_back(fmt::format("$phase{} using 1:2:3:4:5:6 with boxxyerror {} title '{}'", phase,
                                line_colour(*kColours[phase]), kPhaseNames[phase]));
  }
  if (parts.empty()) return std::nullopt;
  std::string tics;
  for (size_t row = 0; row < all.size(); ++row) {
    const std::string name =
        all[row].purpose + (layout.is_narrow ? "" : " (" + plural(all[row].runs, "run") + ")");
    tics +=
        (row == 0 ? "" : ", ") + gnuplot_text(name) + " " + exact(rows - static_cast<double>(row));
    description += fmt::format("{}: {}, {} in all, {} of it training. ", all[row].purpose,
                               plural(all[row].runs, "run"), duration(all[row].wall_seconds),
                               duration(all[row].seconds[2]));
  }
  Figure figure;
  figure.commands = blocks + "set xlabel 'Seconds, summed over runs'\n" + "set ytics (" + tics +
                    ") noenhanced scale 0\nset grid noytics\n" +
                    fmt::format("set xrange [0:{}]\nset yrange [0.4:{}]\n", exact(longest * 1.04),
                                exact(rows + 0.6)) +
                    plot(parts);
  figure.alternative_text = description;
  figure.caption =
      "The budget of a run counts training alone. Runs side by side each count their own time, so "
      "the sum exceeds the wall clock.";
  figure.height_factor = std::min(1.2, 0.4 + 0.13 * rows);
  return figure;
}

const base::Registration<FigureKind> registration{
    {.name = "phases",
     .summary = "seconds per phase",
     .entry = {.order = 6,
               .title = "Where the time went",
               .draw = draw,
               .absent = "This figure appears once the first run has finished."}}};

}  // namespace
}  // namespace windtunnel::report

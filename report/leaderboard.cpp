#include "report/leaderboard.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/bests.h"
#include "report/interpretation.h"
#include "report/markdown.h"
#include "report/wording.h"

namespace windtunnel::report {

std::string leaderboard(const StudyData& data) {
  std::string text = "# Leaderboard: " + escape_markdown(data.name) + "\n\n";
  const std::vector<Best> steps = bests(data);
  if (steps.empty()) return text + "No baseline run has finished yet.\n";
  text +=
      "Validation bits per byte; lower is better. Each value is the parent's plus the mean paired "
      "difference over shared seeds; gains are relative, of the best before and of the baseline. "
      "Kept gains were selected for being large, so expect a little less of them.\n\n"
      "| experiment | bits per byte | step gain | cumulative gain | mean of runs | change | "
      "proposer |\n"
      "|---:|---:|---:|---:|---:|---|---|\n";
  for (const Best& best : steps) {
    const ExperimentView& view = *data.find(best.experiment);
    const std::string patch = base::join(patch_lines(view, data), "; ");
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} |\n", best.experiment, bits(best.bits_per_byte),
        percent(best.step_gain), percent(best.cumulative_gain), bits(view.mean_bits_per_byte),
        best.experiment == 0 ? "baseline" : escape_markdown(patch),
        best.experiment == 0 ? kMissing : escape_markdown(view.experiment.proposal.author()));
  }
  return text;
}

std::string leaderboard_table(const StudyData& data) {
  const std::vector<Best> steps = bests(data);
  if (steps.empty()) return "no baseline run has finished yet";
  std::string text = fmt::format("{:>10} {:>13} {:>10} {:>15}  {}\n", "experiment", "bits per byte",
                                 "step gain", "cumulative gain", "change");
  for (const Best& best : steps) {
    const ExperimentView& view = *data.find(best.experiment);
    text += fmt::format(
        "{:>10} {:>13} {:>10} {:>15}  {}\n", best.experiment, bits(best.bits_per_byte),
        percent(best.step_gain), percent(best.cumulative_gain),
        best.experiment == 0
            ? std::string("baseline")
            : short_patch(view, data) + " (" + one_line(view.experiment.proposal.author()) + ")");
  }
  return text;
}

}  // namespace windtunnel::report

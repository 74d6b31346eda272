#include "report/leaderboard.h"

#include <memory>

#include "cli/command.h"
#include "cli/places.h"
#include "report/bests.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string study;
  bool json = false;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("study", options->study, "name under logs/, or a folder")->required();
  add_json_flag(app, options->json);
  return [options] {
    const report::StudyData data = report::read_study(find_study(options->study));
    if (!options->json) {
      print(report::leaderboard_table(data));
      return base::kExitDone;
    }
    base::Json steps = base::Json::array();
    for (const report::Best& best : report::bests(data)) {
      const report::ExperimentView& view = *data.find(best.experiment);
      steps.push_back({{"experiment", best.experiment},
                       {"bits_per_byte", base::encode_number(best.bits_per_byte)},
                       {"step_gain", base::encode_number(best.step_gain)},
                       {"cumulative_gain", base::encode_number(best.cumulative_gain)},
                       {"mean_of_runs", base::encode_number(view.mean_bits_per_byte)},
                       {"patch", view.experiment.proposal.patch},
                       {"proposer", view.experiment.proposal.author()}});
    }
    print(steps);
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "leaderboard",
     .summary = "the kept changes with their gains, step by step and in all",
     .entry = {.group = "Looking", .example = "windtunnel leaderboard demo", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

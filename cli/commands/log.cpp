#include <fmt/format.h>

#include <memory>

#include "agent/explanation.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/places.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string study;
  int64_t last = 0;
  bool json = false;
};

std::string line_of(const study::Experiment& experiment) {
  std::vector<std::string> changes;
  for (const auto& [path, value] : experiment.proposal.patch.items()) {
    changes.push_back(path.substr(path.rfind('.') + 1) + "=" + value.dump());
  }
  std::string verdict = experiment.decision ? experiment.decision->verdict : experiment.state;
  if (!experiment.doubt.empty()) verdict += " (doubted)";
  std::string delta = "-";
  if (experiment.decision && experiment.decision->delta_bits_per_byte) {
    delta = fmt::format("{:+.4f}", *experiment.decision->delta_bits_per_byte);
  }
  const std::string on = experiment.about == 0 ? fmt::format("on {}", experiment.parent)
                                               : fmt::format("of {}", experiment.about);
  return fmt::format("{:>4}  {:<15} {:>8}  predicted {:+.4f}  {:<13} {:<7} {:<14} {}\n",
                     experiment.number, verdict, delta,
                     experiment.proposal.prediction.delta_bits_per_byte, experiment.proposal.kind,
                     on, experiment.proposal.proposer, base::shorten(base::join(changes, " "), 60));
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("study", options->study, "name under logs/, or a folder")->required();
  app.add_option("--last", options->last, "only so many, the newest; 0: all")
      ->check(CLI::NonNegativeNumber);
  add_json_flag(app, options->json);
  return [options] {
    const study::Journal journal(find_study(options->study) / "journal.db", /*read_only=*/true);
    const int64_t from =
        options->last > 0 ? journal.experiment_count() - options->last + 1 : int64_t{1};
    base::Json all = base::Json::array();
    std::string text;
    for (const study::Experiment& experiment : journal.experiments(from)) {
      if (options->json) {
        all.push_back(agent::experiment_json(experiment));
      } else {
        text += line_of(experiment);
      }
    }
    if (options->json) {
      print(all);
    } else {
      print(text.empty() ? "no experiment has been proposed yet" : text);
    }
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "log",
     .summary = "the experiments of a study, one a line",
     .entry = {.group = "Looking", .example = "windtunnel log demo --last 10", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

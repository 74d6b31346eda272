#include <memory>

#include "agent/research.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string study;
  int64_t experiment = 0;
  std::string reason;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("study", options->study, "name under logs/, or a folder")->required();
  app.add_option("experiment", options->experiment, "number of a decided experiment")->required();
  app.add_option("reason", options->reason, "why its result is no longer believed")->required();
  return [options] {
    const auto folder = find_study(options->study);
    const base::FolderLock lock(folder);
    study::Journal journal(folder / "journal.db");
    agent::doubt(journal, options->experiment, options->reason);
    int64_t marked = 0;
    for (const study::Experiment& experiment : journal.experiments(options->experiment)) {
      if (!experiment.doubt.empty()) ++marked;
    }
    print("experiment " + std::to_string(options->experiment) + " and " +
          std::to_string(marked - 1) +
          " that rest on it are marked; the night goes on from the last kept one that is believed");
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "doubt",
     .summary = "mark an experiment, and all that rests on it, as no longer believed",
     .entry = {.group = "Parts",
               .example = "windtunnel doubt demo 3 'the corpus had duplicates'",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <memory>

#include "agent/explanation.h"
#include "cli/command.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string study;
  std::string what;
  bool json = false;
};

/// "3", "e003-s1": an experiment by its number or by one of its runs.
int64_t experiment_of(const std::string& what, const study::Journal& journal) {
  if (const auto run = journal.run(what)) {
    if (run->experiment && *run->experiment > 0) return *run->experiment;
    throw base::UsageError("run " + what + " belongs to no experiment: nothing was decided by it");
  }
  return parse_number(what, "the number of an experiment or the name of a run");
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("study", options->study, "name under logs/, or a folder")->required();
  app.add_option("experiment", options->what, "its number, or one of its runs")->required();
  add_json_flag(app, options->json);
  return [options] {
    const study::Journal journal(find_study(options->study) / "journal.db", /*read_only=*/true);
    const int64_t number = experiment_of(options->what, journal);
    if (options->json) {
      print(agent::explanation(journal, number));
    } else {
      print(agent::explanation_text(journal, number));
    }
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "explain",
     .summary = "why an experiment was decided as it was, with the numbers",
     .entry = {.group = "Looking", .example = "windtunnel explain demo 3", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

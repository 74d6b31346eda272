#include "scaling/plan.h"

#include <memory>

#include "base/files.h"
#include "cli/command.h"
#include "cli/places.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string fit;
  double compute = 0;
  bool json = false;
};

/// A file that `fit --json` wrote, or a study whose ladder was fitted.
scaling::LawFit read_fit(const std::string& text) {
  base::Json json;
  if (std::filesystem::is_regular_file(text)) {
    json = base::read_json(text);
  } else {
    const study::Journal journal(find_study(text) / "journal.db", /*read_only=*/true);
    const auto fact = journal.fact("fit");
    if (!fact) {
      throw base::UsageError("study '" + text + "' has no fit; run windtunnel ladder first");
    }
    json = *fact;
  }
  if (!json.is_object() || !json.contains("law") || !json.contains("parameters")) {
    throw base::UsageError(text + " is no fit; write one with windtunnel fit DATA --json > " +
                           "fit.json");
  }
  return base::from_trusted_json<scaling::LawFit>(json);
}

int plan(const Options& options) {
  const scaling::ComputePlan result = scaling::plan_compute(read_fit(options.fit), options.compute);
  if (options.json) {
    print(base::to_json(result));
  } else {
    print(scaling::plan_text(result));
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("fit", options->fit, "file of windtunnel fit --json, or a study with a fit")
      ->required();
  app.add_option("--compute", options->compute, "the budget, in FLOPs (6ND)")
      ->required()
      ->check(CLI::PositiveNumber);
  add_json_flag(app, options->json);
  return [options] { return plan(*options); };
}

const base::Registration<Command> registration{
    {.name = "plan",
     .summary = "best size and tokens for a budget, the cost of a wrong choice, the next rung",
     .entry = {.group = "Looking",
               .example = "windtunnel plan fit.json --compute 1e24",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

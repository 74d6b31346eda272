#include "scaling/plan.h"

#include <memory>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/places.h"
#include "scaling/next_rung.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string fit;
  std::optional<double> compute;
  bool json = false;
  bool dry_run = false;
};

scaling::LawFit read_fit(const base::Json& json, const std::string& text) {
  if (!json.is_object() || !json.contains("law") || !json.contains("parameters")) {
    throw base::UsageError(text + " is no fit; write one with windtunnel fit DATA --json > " +
                           "fit.json");
  }
  auto fit = base::from_trusted_json<scaling::LawFit>(json);
  const scaling::Law& law = scaling::law_named(fit.law).entry;
  const auto require = [&](const std::string& name) {
    if (fit.parameters.count(name) > 0 && !fit.rows.empty()) return;
    throw base::UsageError(text + " lacks " + (fit.rows.empty() ? "rows" : "parameter " + name) +
                           " of law " + fit.law +
                           "; write it anew with windtunnel fit DATA --json");
  };
  for (const auto& item : law.coefficients) require(item.name);
  for (const auto& item : law.exponents) require(item.name);
  return fit;
}

void require_compute(const Options& options) {
  constexpr double kMost = 1e40;
  if (!options.compute) {
    throw base::UsageError("--compute says for which budget, in FLOPs (6ND)");
  }
  if (*options.compute > 0 && *options.compute <= kMost) return;
  throw base::UsageError("--compute " + base::format_number(*options.compute) +
                         " must be FLOPs above 0 and up to 1e40");
}

int plan_from_file(const Options& options) {
  require_compute(options);
  const scaling::ComputePlan result =
      scaling::plan_compute(read_fit(base::read_json(options.fit), options.fit), *options.compute);
  if (options.json) {
    print(base::to_json(result));
  } else {
    print(scaling::plan_text(result) +
          "a ladder entry needs a model: plan from the study whose ladder was fitted\n");
  }
  return base::kExitDone;
}

std::string entry_text(const scaling::NextLadder& next, const std::string& study) {
  return "\nthe next rung is " + next.rung.name + "; this in place of the program's ladder, then " +
         "windtunnel ladder PROGRAM --study " + study + ", trains what is missing:\n\n" +
         scaling::ladder_yaml(next.ladder);
}

int plan_from_study(const Options& options) {
  const std::filesystem::path file = find_study(options.fit) / "journal.db";
  study::Journal journal(file, /*read_only=*/!options.compute || options.dry_run);
  std::string text;
  base::Json json = base::Json::object();
  if (options.compute) {
    require_compute(options);
    const auto fact = journal.fact("fit");
    if (!fact) {
      throw base::UsageError("study '" + options.fit + "' has no fit; run windtunnel ladder first");
    }
    const scaling::LawFit fit = read_fit(*fact, options.fit);
    const scaling::ComputePlan result = scaling::plan_compute(fit, *options.compute);
    json = base::to_json(result);
    text = scaling::plan_text(result);
    const auto ladder =
        base::from_trusted_json<scaling::LadderPlan>(journal.fact("ladder.plan").value());
    if (const auto next = scaling::next_ladder(ladder, result.next_rungs)) {
      const scaling::RungForecast forecast = scaling::forecast_rung(fit, next->rung);
      if (!options.dry_run) scaling::store_rung_forecast(journal, forecast);
      json["ladder"] = base::to_json(next->ladder);
      json["next_rung"] = base::to_json(forecast);
      text += entry_text(*next, std::filesystem::absolute(file.parent_path()).string()) + "\n";
    } else {
      text += "the study's ladder can take none of these rungs by its width alone\n";
    }
  }
  const std::vector<scaling::RungForecast> forecasts = scaling::rung_forecasts(journal);
  json["forecasts"] = base::Json::array();
  for (const scaling::RungForecast& forecast : forecasts) {
    json["forecasts"].push_back(base::to_json(forecast));
  }
  text += scaling::rung_forecasts_text(forecasts);
  if (text.empty()) require_compute(options);
  if (options.json) {
    print(json);
  } else {
    print(text);
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("fit", options->fit, "a study with a fitted ladder, or a file of fit --json")
      ->required();
  app.add_option("--compute", options->compute,
                 "the budget, in FLOPs (6ND); of a study, without it: how the rungs planned before "
                 "came out")
      ->check(positive_number());
  add_json_flag(app, options->json);
  add_dry_run_flag(app, options->dry_run);
  return [options] {
    return std::filesystem::is_regular_file(options->fit) ? plan_from_file(*options)
                                                          : plan_from_study(*options);
  };
}

const base::Registration<Command> registration{
    {.name = "plan",
     .summary = "best size and tokens for a budget, the cost of a wrong choice, the next rung",
     .entry = {.group = "Looking",
               .example = "windtunnel plan demo --compute 1e15\n"
                          "  windtunnel plan fit.json --compute 1e24",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <fmt/format.h>

#include <memory>

#include "agent/comparison.h"
#include "cli/command.h"
#include "cli/places.h"
#include "cli/proposer_contest.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string what;
  std::vector<std::string> rest;
  ContestOptions contest;
  bool json = false;
};

std::string name_of(int64_t experiment) {
  return experiment == 0 ? "the baseline" : "experiment " + std::to_string(experiment);
}

std::string text_of(const agent::Comparison& result) {
  std::string text;
  if (!result.pairs.empty()) {
    text += fmt::format("  seed   {:>13}   {:>13}   difference\n", name_of(result.first),
                        name_of(result.second));
  }
  for (const agent::SeedDifference& pair : result.pairs) {
    text += fmt::format("  {:>4}   {:>13.4f}   {:>13.4f}   {:>+10.4f}\n", pair.seed, pair.first,
                        pair.second, pair.first - pair.second);
  }
  text += fmt::format(
      "{} - {}: {:+.4f} bits per byte, 80 % in [{:+.4f}, {:+.4f}], 95 % in [{:+.4f}, {:+.4f}], p = "
      "{:.2g} with {} degrees of freedom{}\n",
      name_of(result.first), name_of(result.second), result.delta_bits_per_byte,
      result.interval_low_80, result.interval_high_80, result.interval_low_95,
      result.interval_high_95, result.p_value, result.degrees,
      result.is_paired ? "" : "; no seed in common, so means are compared");
  if (result.is_selected) {
    text +=
        "one of them was kept because of some of these runs: expect a smaller difference on new "
        "seeds\n";
  }
  return text;
}

int64_t number_of(const std::string& text) {
  if (text == "baseline") return 0;
  return parse_number(text, "the number of an experiment, or 'baseline'");
}

int compare_experiments(const Options& options) {
  if (options.rest.size() != 2) {
    throw base::UsageError(
        "compare takes a study and two experiments, e.g. windtunnel compare demo 3 baseline; or "
        "'proposers' and a program");
  }
  const study::Journal journal(find_study(options.what) / "journal.db", /*read_only=*/true);
  const agent::Comparison result =
      agent::compare(journal, number_of(options.rest[0]), number_of(options.rest[1]));
  if (options.json) {
    print(base::to_json(result));
  } else {
    print(text_of(result));
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("study", options->what, "name under logs/, or a folder; or 'proposers'")
      ->required();
  app.add_option("rest", options->rest,
                 "two experiments (number or 'baseline'); with 'proposers': a program, then "
                 "a.b=value for its front matter")
      ->required();
  app.add_option("--proposers", options->contest.proposers,
                 "who takes part, e.g. language_model,random,best_of_n; the first is compared with "
                 "the others")
      ->delimiter(',');
  app.add_option("--nights", options->contest.nights, "nights of each, on seeds 1, 2, ...")
      ->check(CLI::PositiveNumber);
  add_dry_run_flag(app, options->contest.dry_run);
  add_json_flag(app, options->json);
  return [options] {
    if (options->what != "proposers") return compare_experiments(*options);
    options->contest.program = options->rest.front();
    options->contest.overrides.assign(options->rest.begin() + 1, options->rest.end());
    options->contest.json = options->json;
    return run_contest(options->contest);
  };
}

const base::Registration<Command> registration{
    {.name = "compare",
     .summary = "two experiments of a study, or proposers on the same budget; paired",
     .entry = {.group = "Looking",
               .example = "windtunnel compare demo 3 baseline\n"
                          "  windtunnel compare proposers demo --proposers local_search,random "
                          "--nights 3",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

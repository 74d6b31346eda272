#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/places.h"
#include "scaling/law_fit.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

using scaling::Observation;

struct Options {
  std::string data;
  std::string map;
  std::string law = "loss_c";
  std::string objective = "least_squares";
  std::string flops = scaling::convention::kSixND;
  double delta = 1e-3;
  std::string on = "log";
  int starts = 16;
  int bootstrap = 0;
  int holdout_top = 0;
  bool json = false;
  bool dry_run = false;
};

scaling::Observations read(const Options& options) {
  if (!options.map.empty()) {
    return scaling::read_observations(
        options.data, {.map = scaling::ColumnMap::parse(options.map), .loss_unit = "as given"});
  }
  if (std::filesystem::is_regular_file(options.data)) {
    throw base::UsageError("fit " + options.data +
                           ": say which column is what, e.g. --map N=params,D=tokens,L=loss");
  }
  const study::Journal journal(find_study(options.data) / "journal.db", /*read_only=*/true);
  std::vector<study::RunRecord> records;
  // Runs under a wall-clock budget follow no law of compute; only a ladder's do.
  for (const study::JournalRun& run : journal.runs()) {
    if (run.purpose == "ladder" && run.record) records.push_back(*run.record);
  }
  if (records.empty()) {
    throw base::UsageError("study '" + options.data +
                           "' has no finished ladder run to fit; run "
                           "windtunnel ladder first");
  }
  return scaling::observations_from_records(records, options.flops);
}

/// The `count` rows with the most compute, taken out of `rows`.
std::vector<Observation> take_largest(std::vector<Observation>& rows, int count) {
  std::stable_sort(rows.begin(), rows.end(), [](const Observation& a, const Observation& b) {
    return a.flops.value_or(0) < b.flops.value_or(0);
  });
  const auto kept = std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(rows.size()) - count);
  std::vector<Observation> largest(rows.begin() + kept, rows.end());
  rows.erase(rows.begin() + kept, rows.end());
  return largest;
}

int fit(const Options& options) {
  scaling::Observations observations = read(options);
  if (options.dry_run) {
    print(scaling::observations_table(observations));
    return base::kExitDone;
  }
  const std::vector<Observation> held_out = take_largest(observations.rows, options.holdout_top);
  std::vector<scaling::Wanted> wanted;
  std::map<std::string, std::string> forecast_of;
  for (const Observation& row : held_out) {
    wanted.push_back({row.name, scaling::point_of(row)});
    forecast_of[row.name] = row.name;
  }
  scaling::LawFit result = scaling::fit_law(observations.rows,
                                            {.law = options.law,
                                             .objective = options.objective,
                                             .huber_delta = options.delta,
                                             .on = options.on,
                                             .starts = options.starts,
                                             .bootstrap = options.bootstrap},
                                            wanted);
  result.left_out = observations.left_out;
  scaling::score_forecasts(result, held_out, forecast_of);
  if (options.json) {
    print(base::to_json(result));
  } else {
    print(scaling::fit_page(result));
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("data", options->data, "study with a ladder, or a .csv or .jsonl table")
      ->required();
  app.add_option("--map", options->map, "which column is what: N=..,D=..,C=..,L=..");
  app.add_option("--law", options->law, "windtunnel list laws")->capture_default_str();
  app.add_option("--objective", options->objective, "least_squares or huber")
      ->capture_default_str();
  app.add_option("--delta", options->delta, "Huber's width, in the unit of the residual")
      ->capture_default_str();
  app.add_option("--on", options->on, "residuals of ln L (log) or of L (linear)")
      ->capture_default_str();
  app.add_option("--flops", options->flops, "of our own runs: 6ND or exact")->capture_default_str();
  app.add_option("--starts", options->starts, "starts of the search")->capture_default_str();
  app.add_option("--bootstrap", options->bootstrap, "bootstrap draws, clustered by run")
      ->capture_default_str();
  app.add_option("--holdout-top", options->holdout_top,
                 "leave the K rows with the most compute out and forecast them");
  add_json_flag(app, options->json);
  add_dry_run_flag(app, options->dry_run);
  return [options] { return fit(*options); };
}

const base::Registration<Command> registration{
    {.name = "fit",
     .summary = "a scaling law from a study's ladder or any table of runs, with a held-out check",
     .entry = {.group = "Jobs",
               .example = "windtunnel fit runs.csv --map N=params,D=tokens,L=loss --holdout-top 1",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

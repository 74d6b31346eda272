#include <memory>

#include "base/text.h"
#include "cli/fit_data.h"
#include "cli/places.h"
#include "report/comparison_figures.h"
#include "scaling/gain.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

struct Options {
  FitData data;
  std::string baseline;
  std::string changed;
  scaling::GainOptions gain;
  std::string figures;
  bool json = false;
};

/// Of a study, the base's own curve.
std::string baseline_of(const Options& options, const std::vector<std::string>& arms) {
  if (!options.baseline.empty()) return options.baseline;
  if (options.data.map.empty()) {
    const study::Journal journal(find_study(options.data.data) / "journal.db", /*read_only=*/true);
    const auto plan = journal.fact("ladder.plan");
    if (plan) return plan->at("ladder").at("curve").get<std::string>();
  }
  throw base::UsageError("--base says which arm is the baseline; there are " +
                         base::join(arms, ", "));
}

int gains(const Options& options) {
  if (!options.gain.law.empty()) law_asked_for(options.gain.law);
  const scaling::Observations observations = read_fit_data(options.data, "loss_c");
  const std::vector<std::string> arms = scaling::arms_of(observations.rows);
  if (arms.size() < 2) {
    throw base::UsageError(
        options.data.map.empty()
            ? "the ladder of study '" + options.data.data +
                  "' has one curve with finished runs; add ladder.variants to its program"
            : "the rows are of one arm; --map arm=COLUMN says which column tells the arms apart");
  }
  const std::string baseline = baseline_of(options, arms);
  std::vector<scaling::GainVerdict> verdicts;
  std::string text;
  for (const std::string& arm : arms) {
    if (arm == baseline || (!options.changed.empty() && arm != options.changed)) continue;
    verdicts.push_back(scaling::compare_arms(observations.rows, baseline, arm, options.gain));
    text += (text.empty() ? "" : "\n") + scaling::gain_text(verdicts.back());
  }
  if (verdicts.empty()) {
    throw base::UsageError("no row is of arm '" +
                           (options.changed.empty() ? baseline : options.changed) +
                           "' that could be compared; there are " + base::join(arms, ", "));
  }
  if (!options.figures.empty()) report::write_gains_figure(verdicts, options.figures);
  if (options.json) {
    base::Json list = base::Json::array();
    for (const scaling::GainVerdict& verdict : verdicts) list.push_back(base::to_json(verdict));
    print(list);
  } else {
    print(text + scaling::left_out_text(observations.left_out));
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->data.whole_ladder = true;
  add_fit_data(app, options->data);
  app.add_option("--base", options->baseline,
                 "the arm to beat; of a study, its own curve if absent");
  app.add_option("--arm", options->changed, "the arm to judge; all others if absent");
  app.add_option("--noise", options->gain.noise,
                 "known standard deviation of the gain of one pair of runs, relative, e.g. 0.002")
      ->check(positive_number());
  app.add_option(
      "--law", options->gain.law,
      "of the baseline, for the compute-equivalent gain; loss_nd if tokens per parameter "
      "vary, loss_c if its offset could be identified, else power_c");
  app.add_option("--confidence", options->gain.confidence, "of all intervals")
      ->check(CLI::Range(0.5, 0.9999))
      ->capture_default_str();
  app.add_option("--figures", options->figures, "folder to write a figure to (SVG, PNG, PDF)");
  add_json_flag(app, options->json);
  return [options] { return gains(*options); };
}

const base::Registration<Command> registration{
    {.name = "gains",
     .summary = "does a gain scale? two arms size by size: verdict, trend, worth in compute",
     .entry = {.group = "Jobs",
               .example = "windtunnel gains runs.csv --map "
                          "arm=recipe,size=size,N=params,D=tokens,L=bpb --base simple",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

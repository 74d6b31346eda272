#pragma once
// A ladder: one configuration at several sizes and budgets, with variants beside it, and the
// largest held out. The plan is made and stored before anything runs; the forecast for the held-out
// part is made from the rest alone, stored as soon as that is done, and never changed after.
//
// What runs next is a function of the plan and of the records there are (ladder_state.h), so a
// ladder continues after a kill at any instant, and runs may also end elsewhere (ladder_jobs.h).
//
// Facts in the journal:  ladder.plan      LadderPlan
//                        ladder.rungs     list of RungOutcome: rates tried, rate chosen, and why
//                        ladder.pairs     list of PairedDifference
//                        ladder.gains     list of GainVerdict (gain.h): each variant against the
//                                         base's own curve
//                        ladder.forecast  LawFit without held_out; null after rungs were added
//                        ladder.forecasts.earlier  list of the forecasts before that
//                        fit              the same LawFit, with held_out

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scaling/gain.h"
#include "scaling/ladder_config.h"
#include "scaling/law_fit.h"
#include "study/journal.h"
#include "study/run_config.h"
#include "study/runner.h"

namespace windtunnel::scaling {

/// One size under one budget on one curve.
struct PlannedRung {
  /// Unique in the ladder; part of run ids: size, then curve unless it is the base's, then budget
  /// or ratio where a size has several.
  std::string name;
  std::string size;
  std::string curve;
  /// Of a variant: the rung of the base's own curve that it is paired with; else "".
  std::string base_rung;
  bool held_out = false;
  /// Resolved study::RunConfig at `learning_rate`; the seed is set per run.
  base::Json config;
  std::string config_fingerprint;
  int64_t parameters_active = 0;
  int64_t parameters_total = 0;
  double target_tokens = 0;
  int64_t tokens = 0;
  int64_t steps = 0;
  double learning_rate = 0;
  /// A name of rate_status, without what only runs can tell: "tuned" stands for "will be".
  std::string rate_status;
  /// Runs without extensions of its grid.
  int64_t runs = 0;
  double flops_exact = 0;
  double flops_six_nd = 0;
  double peak_memory_bytes = 0;
  std::optional<double> epochs;
  std::optional<double> expected_seconds;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "size, curve and budget in one"});
    visit("size", self.size, {.help = "name of the size"});
    visit("curve", self.curve, {.help = "name of the variant, or of the base's own curve"});
    visit("base_rung", self.base_rung, {.help = "it is paired with; empty: of the base's curve"});
    visit("held_out", self.held_out, {.help = "forecast, not fitted"});
    visit("config", self.config, {.help = "resolved configuration of its runs"});
    visit("config_fingerprint", self.config_fingerprint, {.help = "of it, without the seed"});
    visit("parameters_active", self.parameters_active, {.help = "N, used by one token"});
    visit("parameters_total", self.parameters_total, {.help = "all weights"});
    visit("target_tokens", self.target_tokens, {.help = "asked for", .unit = "tokens"});
    visit("tokens", self.tokens, {.help = "whole steps", .unit = "tokens"});
    visit("steps", self.steps, {.help = "optimizer steps"});
    visit("learning_rate", self.learning_rate,
          {.help = "peak; of a size that is tuned, where its grid is expected"});
    visit("rate_status", self.rate_status, {.help = "given, extrapolated, or tuned: by a grid"});
    visit("runs", self.runs, {.help = "without extensions of the grid"});
    visit("flops_exact", self.flops_exact, {.help = "of one run, by the exact ledger"});
    visit("flops_six_nd", self.flops_six_nd, {.help = "of one run, 6ND"});
    visit("peak_memory_bytes", self.peak_memory_bytes, {.help = "estimate", .unit = "bytes"});
    visit("epochs", self.epochs, {.help = "passes over the training split; null: size unknown"});
    visit("expected_seconds", self.expected_seconds,
          {.help = "of training one run; null: speed unknown", .unit = "seconds"});
  }
};

/// How fast one run is while all slots are busy.
struct Speed {
  double flops_per_second = 0;
  bool is_measured = false;
  /// On what, or whose assumption; one clause.
  std::string source;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("flops_per_second", self.flops_per_second, {.help = "of one run, exact ledger"});
    visit("is_measured", self.is_measured, {.help = "in this study; else assumed"});
    visit("source", self.source, {.help = "the run it was measured on, or what is assumed"});
  }
};

struct LadderPlan {
  LadderConfig ladder;
  /// Curve by curve, each from the smallest to the largest.
  std::vector<PlannedRung> rungs;
  /// Rungs of variants that are their base already, e.g. after a night kept the change.
  std::vector<LeftOut> left_out;
  /// N and peak rate of the configuration that the ladder is for.
  int64_t base_parameters = 0;
  double base_learning_rate = 0;
  /// The one manifest; "" while the corpus is not built.
  std::string data_fingerprint;
  /// Law of the held-out test.
  std::string law;
  int slots = 1;
  std::optional<Speed> speed;
  /// Of all runs, biggest first into the slots; null if the speed is unknown.
  std::optional<double> expected_seconds;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("ladder", self.ladder, {.help = "what was asked for"});
    visit("rungs", self.rungs, {.help = "curve by curve, smallest first"});
    visit("left_out", self.left_out, {.help = "rungs that would be trained for nothing"});
    visit("base_parameters", self.base_parameters, {.help = "N of the base, active"});
    visit("base_learning_rate", self.base_learning_rate, {.help = "peak, of the base"});
    visit("data_fingerprint", self.data_fingerprint, {.help = "of the corpus manifest"});
    visit("law", self.law, {.help = "of the held-out test"});
    visit("slots", self.slots, {.help = "runs in flight at once"});
    visit("speed", self.speed, {.help = "that the expected times rest on"});
    visit("expected_seconds", self.expected_seconds,
          {.help = "of all runs, without extensions", .unit = "seconds"});
  }
};

/// What is known before.
struct LadderSetting {
  /// A rung is expected to reach the same exact FLOP/s, which flatters smaller rungs.
  std::optional<Speed> speed;
  /// Tokens in the training split.
  std::optional<double> corpus_train_tokens;
  std::string data_fingerprint;
  int slots = 1;
};

/// The speed that a run of `config` is assumed to have: the ladder's own figure, or one by device.
Speed assumed_speed(const study::RunConfig& config, const LadderConfig& ladder);

/// `base` is resolved: the configuration whose ladder this is.
/// Errors: ConfigError with all problems: too few fitted rungs, budgets or sizes of a budget, none
/// held out or not the largest, names, two rungs of one size, a patch that touches the budget, the
/// data or the seed, a patch that does not resolve.
LadderPlan plan_ladder(const study::RunConfig& base, const LadderConfig& ladder,
                       const LadderSetting& setting = {});

/// For people: one line per rung, then what the numbers rest on.
std::string ladder_table(const LadderPlan& plan);

/// Runs what is missing, biggest first, through the journal; a size that is tuned waits for the
/// smaller ones of its curve. Stores the plan first, and the forecast as soon as the fitted rungs
/// are done. A forecast that cannot be made (a rung failed) becomes an event in the journal;
/// fit_ladder then states the error. Returns the records, biggest rung first.
///
/// Errors: Error if the journal holds the plan of another ladder, or if a run read another manifest
/// than the ladder's; Interrupted.
std::vector<study::RunRecord> run_ladder(
    const LadderPlan& plan, study::Journal& journal, study::Runner& runner,
    const std::filesystem::path& study, const FitOptions& options,
    const std::function<void(const study::Runner&)>& on_tick = {});

/// The same with the plan's law and otherwise default options.
std::vector<study::RunRecord> run_ladder(
    const LadderPlan& plan, study::Journal& journal, study::Runner& runner,
    const std::filesystem::path& study,
    const std::function<void(const study::Runner&)>& on_tick = {});

/// Writes the plan into a journal that has none, or over one that has all rungs of it but some: the
/// ladder grew, and makes its forecast anew.
/// Errors: Error if the journal holds the plan of another ladder.
void store_plan(const LadderPlan& plan, study::Journal& journal);

/// All runs of purpose "ladder" that have ended, with what is known of their rates; `arm` is the
/// curve, `size` the rung of the base's own curve.
Observations ladder_observations(const study::Journal& journal,
                                 const std::string& flops_convention = convention::kSixND);

/// Of them what a law is fitted to: runs at the rate their size got, and of the base's own curve
/// unless `every_curve`. The others are left out with the reason.
Observations chosen_observations(const study::Journal& journal,
                                 const std::string& flops_convention = convention::kSixND,
                                 bool every_curve = false);

/// The tuned sizes of the base's own curve with the optimum of each as learning rate and as loss:
/// the rows of the laws of learning rates. Sizes without one are left out with the reason.
Observations ladder_optima(const study::Journal& journal,
                           const std::string& flops_convention = convention::kSixND);

/// lr*(N) (laws/rate_n.cpp) through the tuned sizes; nullopt with fewer than it needs.
std::optional<LawFit> fit_ladder_rates(const study::Journal& journal);

/// Whether each variant's difference to the base's own curve scales (gain.h), stored as the fact
/// "ladder.gains". A variant without a finished size stays out.
std::vector<GainVerdict> judge_ladder(study::Journal& journal);

/// Scores the stored forecast (made now from the fitted rungs if there is none yet) against the
/// held-out runs, stores the fact "fit" and returns it. A held-out run that failed leaves
/// `held_out` without it and is listed in `left_out`. Of a size that was tuned only the runs at the
/// chosen rate count. The law is through the base's own curve.
/// Errors: Error if there is no ladder in the journal or too few completed rungs to fit.
LawFit fit_ladder(study::Journal& journal, const FitOptions& options);
LawFit fit_ladder(study::Journal& journal);

}  // namespace windtunnel::scaling

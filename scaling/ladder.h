#pragma once
// A ladder: one configuration at several sizes, each trained for the same number of tokens per
// active parameter, with the largest held out. The plan is made and stored before anything runs;
// the forecast for the held-out size is made from the smaller ones alone, stored as soon as they
// are done, and never changed after.
//
// Facts in the journal:  ladder.plan      LadderPlan
//                        ladder.forecast  LawFit without held_out
//                        fit              the same LawFit, with held_out

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scaling/law_fit.h"
#include "study/journal.h"
#include "study/run_config.h"
#include "study/runner.h"

namespace windtunnel::scaling {

struct RungConfig {
  /// Part of run ids: letters, digits, '.', '_' and '-'.
  std::string name;
  /// Dotted path -> new value, on the configuration the ladder is for. A rung may set
  /// train.optimizer.learning_rate itself; otherwise the exponent below gives it.
  base::Json patch = base::Json::object();
  bool held_out = false;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "name of the size, e.g. w24"});
    visit(
        "patch", self.patch,
        {.help = "dotted path -> new value, e.g. model.width: 24", .schema = {{"type", "object"}}});
    visit("held_out", self.held_out, {.help = "not fitted but forecast; must be the largest"});
  }
};

struct LadderConfig {
  double tokens_per_parameter = 20;
  double learning_rate_exponent = -0.8;
  int seeds = 1;
  std::vector<RungConfig> rungs;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("tokens_per_parameter", self.tokens_per_parameter,
          {.help = "tokens trained on per active parameter", .exclusive_minimum = 0});
    visit("learning_rate_exponent", self.learning_rate_exponent,
          {.help = "peak rate of a rung = the base's * (N of rung / N of base)^exponent, N active",
           .minimum = -5,
           .maximum = 5});
    visit("seeds", self.seeds, {.help = "runs per rung, seeds 1..k", .minimum = 1, .maximum = 100});
    visit("rungs", self.rungs, {.help = "sizes: at least five fitted and a larger one held out"});
  }
};

struct PlannedRung {
  std::string name;
  bool held_out = false;
  /// Resolved study::RunConfig; the seed is set per run.
  base::Json config;
  std::string config_fingerprint;
  int64_t parameters_active = 0;
  int64_t parameters_total = 0;
  int64_t tokens = 0;
  int64_t steps = 0;
  double learning_rate = 0;
  double flops_exact = 0;
  double flops_six_nd = 0;
  double peak_memory_bytes = 0;
  std::optional<double> epochs;
  std::optional<double> expected_seconds;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "name of the size"});
    visit("held_out", self.held_out, {.help = "forecast, not fitted"});
    visit("config", self.config, {.help = "resolved configuration of its runs"});
    visit("config_fingerprint", self.config_fingerprint, {.help = "of it, without the seed"});
    visit("parameters_active", self.parameters_active, {.help = "N, used by one token"});
    visit("parameters_total", self.parameters_total, {.help = "all weights"});
    visit("tokens", self.tokens, {.help = "whole steps", .unit = "tokens"});
    visit("steps", self.steps, {.help = "optimizer steps"});
    visit("learning_rate", self.learning_rate, {.help = "peak"});
    visit("flops_exact", self.flops_exact, {.help = "of one run, by the exact ledger"});
    visit("flops_six_nd", self.flops_six_nd, {.help = "of one run, 6ND"});
    visit("peak_memory_bytes", self.peak_memory_bytes, {.help = "estimate", .unit = "bytes"});
    visit("epochs", self.epochs, {.help = "passes over the training split; null: size unknown"});
    visit("expected_seconds", self.expected_seconds,
          {.help = "of training one run; null: speed unknown", .unit = "seconds"});
  }
};

struct LadderPlan {
  LadderConfig ladder;
  /// From the smallest to the largest.
  std::vector<PlannedRung> rungs;
  int slots = 1;
  /// Of all runs, biggest first into the slots; null if the speed is unknown.
  std::optional<double> expected_seconds;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("ladder", self.ladder, {.help = "what was asked for"});
    visit("rungs", self.rungs, {.help = "sizes, smallest first"});
    visit("slots", self.slots, {.help = "runs in flight at once"});
    visit("expected_seconds", self.expected_seconds, {.help = "of all runs", .unit = "seconds"});
  }
};

/// What was measured before, as far as it was.
struct LadderSetting {
  /// Tokens per second of one run of the base configuration while all slots were busy. A rung is
  /// expected to reach the same exact FLOP/s, which flatters smaller rungs.
  std::optional<double> tokens_per_second;
  /// Tokens in the training split.
  std::optional<double> corpus_train_tokens;
  int slots = 1;
};

/// `base` is resolved: the configuration whose ladder this is.
/// Errors: ConfigError with all problems: fewer than five fitted rungs, none held out or not the
/// largest, names, two rungs of one size, a patch that touches the budget or the seed, a patch that
/// does not resolve.
LadderPlan plan_ladder(const study::RunConfig& base, const LadderConfig& ladder,
                       const LadderSetting& setting = {});

/// For people: one line per rung.
std::string ladder_table(const LadderPlan& plan);

/// "ladder-w24-s1".
std::string ladder_run_id(const std::string& rung, int64_t seed);

/// Runs what is missing, biggest first, through the journal; stores the plan first and the forecast
/// as soon as the fitted rungs are done. A forecast that cannot be made (a rung failed) becomes an
/// event in the journal; fit_ladder then states the error. Returns the records, biggest rung first.
///
/// Errors: Error if the journal holds the plan of another ladder; Interrupted.
std::vector<study::RunRecord> run_ladder(
    const LadderPlan& plan, study::Journal& journal, study::Runner& runner,
    const std::filesystem::path& study, const FitOptions& options = {},
    const std::function<void(const study::Runner&)>& on_tick = {});

/// All runs of purpose "ladder" that have ended, by C = 6ND.
Observations ladder_observations(const study::Journal& journal);

/// Scores the stored forecast (made now from the fitted rungs if there is none yet) against the
/// held-out runs, stores the fact "fit" and returns it. A held-out run that failed leaves
/// `held_out` without it and is listed in `left_out`.
/// Errors: Error if there is no ladder in the journal or too few completed rungs to fit.
LawFit fit_ladder(study::Journal& journal, const FitOptions& options = {});

}  // namespace windtunnel::scaling

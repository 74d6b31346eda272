#pragma once
// The sections of a program's front matter; program.h puts them together.

#include <optional>
#include <string>
#include <vector>

#include "base/config.h"

namespace windtunnel::agent {

/// Where the text comes from: exactly one of the two.
struct CorpusSource {
  /// A recipe to build the corpus from, relative to the folder the command runs in.
  std::string recipe;
  /// A folder that holds a packed corpus already.
  std::string folder;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("recipe", self.recipe, {.help = "recipe file; the corpus is built if it is absent"});
    visit("folder", self.folder, {.help = "folder of a packed corpus"});
  }
};

struct NightConfig {
  int64_t baseline_replicates = 4;
  int64_t experiments = 8;
  int64_t max_consecutive_failures = 5;
  int64_t plateau_experiments = 0;
  int64_t seed = 1;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("baseline_replicates", self.baseline_replicates,
          {.help = "runs of the base configuration with seeds 1, 2, ...: they measure the noise",
           .minimum = 2,
           .maximum = 64});
    visit("experiments", self.experiments,
          {.help = "experiments to decide; vetoed ones do not count", .minimum = 1});
    visit("max_consecutive_failures", self.max_consecutive_failures,
          {.help = "stop after this many failed experiments in a row", .minimum = 1});
    visit("plateau_experiments", self.plateau_experiments,
          {.help = "stop after this many decided experiments without a keep; 0: never",
           .minimum = 0});
    visit("seed", self.seed, {.help = "of the proposers' draws", .minimum = 0});
  }
};

/// One path a proposal may set, and to what.
struct MutablePath {
  std::string path;
  std::optional<double> minimum;
  std::optional<double> maximum;
  /// How a range is searched: "linear" or "log".
  std::string scale = "linear";
  /// The only values, instead of a range. A boolean path, or one whose schema lists its values, has
  /// them filled in when the program is read.
  std::vector<base::Json> choices;

  bool has_range() const { return minimum && maximum; }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("path", self.path, {.help = "dotted path in a run configuration"});
    visit("minimum", self.minimum, {.help = "least value"});
    visit("maximum", self.maximum, {.help = "greatest value"});
    visit("scale", self.scale, {.help = "how the range is searched", .choices = {"linear", "log"}});
    visit("choices", self.choices, {.help = "the only values, instead of a range"});
  }
};

/// Limits of what may run and of what may be kept; 0 stands for no limit.
struct Guardrails {
  int64_t max_parameters_active = 0;
  int64_t max_parameters_total = 0;
  double max_flops_per_token = 0;
  double max_memory_bytes = 0;
  /// A layer has collapsed if its busiest of E experts gets max(this, 2/E) of the tokens or more.
  double max_expert_load = 0.25;
  double max_load_cv = 1.0;
  double min_load_entropy = 0.05;
  double max_bias_of_clamp = 1.0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("max_parameters_active", self.max_parameters_active,
          {.help = "per token; 0: no limit", .minimum = 0});
    visit("max_parameters_total", self.max_parameters_total, {.help = "0: no limit", .minimum = 0});
    visit("max_flops_per_token", self.max_flops_per_token,
          {.help = "forward and backward, exact ledger; 0: no limit", .minimum = 0});
    visit(
        "max_memory_bytes", self.max_memory_bytes,
        {.help = "estimated peak of a training step; 0: no limit", .unit = "bytes", .minimum = 0});
    visit("max_expert_load", self.max_expert_load,
          {.help = "share of the busiest expert that counts as collapse; at least 2/E",
           .exclusive_minimum = 0,
           .maximum = 1});
    visit("max_load_cv", self.max_load_cv,
          {.help = "standard deviation over mean of the experts' load that counts as collapse",
           .exclusive_minimum = 0});
    visit("min_load_entropy", self.min_load_entropy,
          {.help = "entropy of the load over log E below which a router has collapsed; at 0.05 one "
                   "of 16 experts has more than 97 % of the load",
           .minimum = 0,
           .maximum = 1});
    visit("max_bias_of_clamp", self.max_bias_of_clamp,
          {.help = "largest selection bias over its clamp that counts as collapse: at 1 the clamp "
                   "holds it",
           .exclusive_minimum = 0});
  }
};

struct DecisionRule {
  int64_t min_pairs = 2;
  int64_t max_pairs = 4;
  int64_t incumbent_runs = 4;
  double confidence = 0.9;
  double confirmation = 0.9;
  double minimum_gain = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("min_pairs", self.min_pairs,
          {.help = "seeds compared before a decision", .minimum = 1, .maximum = 64});
    visit("max_pairs", self.max_pairs,
          {.help = "seeds compared at most", .minimum = 1, .maximum = 64});
    visit("incumbent_runs", self.incumbent_runs,
          {.help = "runs of the incumbent, on seeds that had no part in choosing it, before "
                   "candidates are compared with it; those beyond the pairs make it less noisy",
           .minimum = 0,
           .maximum = 256});
    visit("confidence", self.confidence,
          {.help = "probability that a night of changes that change nothing keeps none",
           .exclusive_minimum = 0.5,
           .exclusive_maximum = 1});
    visit("confirmation", self.confirmation,
          {.help = "of a kept change: its runs on fresh seeds must beat those of its parent, made "
                   "beside them, with this confidence, or it is doubted",
           .minimum = 0.5,
           .exclusive_maximum = 1});
    visit("minimum_gain", self.minimum_gain,
          {.help = "bits per byte that a change must gain to be kept", .minimum = 0});
  }
};

/// Totals of a night; 0 stands for no limit. What one run may take is base.train.budget.
struct BudgetLimits {
  double device_seconds = 0;
  int64_t runs = 0;
  double dollars = 0;
  double hours = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("device_seconds", self.device_seconds,
          {.help = "of all runs together, start-up and evaluation included; set aside before a run "
                   "starts; 0: no limit",
           .unit = "seconds",
           .minimum = 0});
    visit("runs", self.runs,
          {.help = "runs of the night; 0: no limit", .unit = "runs", .minimum = 0});
    visit(
        "dollars", self.dollars,
        {.help = "for language models; the worst case of a call is set aside before it, so prices "
                 "must be known; 0: no limit",
         .unit = "dollars",
         .minimum = 0});
    visit("hours", self.hours,
          {.help = "wall clock that the night is at work, pauses not counted; 0: no limit",
           .unit = "hours",
           .minimum = 0});
  }
};

/// What the harness checks about a kept change by itself.
struct Controls {
  double matched_steps_above = 0.1;
  bool factors = true;
  bool repair = true;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("matched_steps_above", self.matched_steps_above,
          {.help = "a kept change that moves tokens per second by more than this share, under a "
                   "budget of seconds, is trained for as many steps as its incumbent too; 0: never",
           .minimum = 0});
    visit("factors", self.factors,
          {.help = "each path of a kept change of several is measured alone"});
    visit("repair", self.repair,
          {.help = "a better candidate with a collapsed router, or one that diverged, is tried "
                   "once more with what should cure it, where the program lets that be set"});
  }
};

/// Gives a candidate up before its end, against its pair at the same step.
struct AbortRule {
  double progress = 0;
  double worse_by = 0.05;
  double audit_share = 0.2;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("progress", self.progress,
          {.help = "part of the budget after which a candidate may be given up; 0: never. Curves "
                   "cross early: not before 0.3 or so",
           .minimum = 0,
           .exclusive_maximum = 1});
    visit("worse_by", self.worse_by,
          {.help = "a candidate is given up when its training loss is above that of its pair at "
                   "the same step by more than this share",
           .exclusive_minimum = 0});
    visit("audit_share", self.audit_share,
          {.help = "share of candidates that are let run to their end all the same: they tell how "
                   "often the rule is wrong",
           .minimum = 0,
           .maximum = 1});
  }
};

/// Whether a gain holds at another size of the model.
struct ScaleGate {
  base::Json patch = base::Json::object();
  int64_t pairs = 2;
  double confidence = 0.8;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("patch", self.patch,
          {.help = "dotted path -> value that makes the other size, e.g. model.width: 96; empty: "
                   "no gate",
           .schema = {{"type", "object"}}});
    visit("pairs", self.pairs,
          {.help = "seeds compared at that size", .minimum = 1, .maximum = 64});
    visit("confidence", self.confidence,
          {.help = "one-sided, that the gain at that size is above 0",
           .minimum = 0.5,
           .exclusive_maximum = 1});
  }

  bool is_on() const { return !patch.empty(); }
};

}  // namespace windtunnel::agent

#pragma once
// A research program: a Markdown file whose YAML front matter is enforced by code and whose prose
// is what a language model reads. programs/README.md describes every field.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "scaling/ladder.h"
#include "study/experiment.h"
#include "study/run_config.h"

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
  double max_seconds = 0;
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
    visit("max_seconds", self.max_seconds,
          {.help = "stop starting experiments after this long; 0: no limit",
           .unit = "seconds",
           .minimum = 0});
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
    visit("minimum_gain", self.minimum_gain,
          {.help = "bits per byte that a change must gain to be kept", .minimum = 0});
  }
};

/// One proposer: {"kind", "share"} and the options of its kind (see proposer.h).
using ProposerConfig = base::Json;

/// The JSON Schema of one entry of `proposers`, made from the registry.
base::Json proposer_entry_schema();

struct Program {
  std::string name;
  CorpusSource corpus;
  /// Runs in flight at once.
  int64_t slots = 1;
  /// Partial RunConfig; data.corpus is filled in by the harness.
  base::Json base = base::Json::object();
  NightConfig night;
  std::vector<MutablePath> mutable_paths;
  /// Path prefixes; kAlwaysFrozen (research_space.h) is added to them.
  std::vector<std::string> frozen;
  Guardrails guardrails;
  DecisionRule decision;
  std::vector<ProposerConfig> proposers;
  /// Ranked ideas for the proposer `queue`.
  std::vector<study::Proposal> queue;
  scaling::LadderConfig ladder;
  /// Markdown below the front matter.
  std::string prose;

  /// Runs of the baseline before the first experiment: it is the first incumbent.
  int64_t baseline_runs() const {
    return std::max(night.baseline_replicates, decision.incumbent_runs);
  }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "letters, digits, - and _; the study's folder under logs/"});
    visit("corpus", self.corpus, {.help = "what the models read"});
    visit("slots", self.slots,
          {.help = "runs in flight at once, each with train.threads threads",
           .minimum = 1,
           .maximum = 256});
    visit("base", self.base,
          {.help = "partial run configuration: the baseline", .schema = {{"type", "object"}}});
    visit("night", self.night, {.help = "how much is tried, and when to stop"});
    visit("mutable", self.mutable_paths, {.help = "the only paths a proposal may set"});
    visit("frozen", self.frozen, {.help = "path prefixes that no proposal may set"});
    visit("guardrails", self.guardrails, {.help = "limits of what may run and be kept"});
    visit("decision", self.decision, {.help = "when a change is kept"});
    visit("proposers", self.proposers,
          {.help = "who proposes, in order; `queue` is used up first",
           .schema = {{"type", "array"}, {"items", proposer_entry_schema()}}});
    visit("queue", self.queue, {.help = "ranked ideas"});
    visit("ladder", self.ladder, {.help = "the sizes that the best configuration is trained at"});
    visit("prose", self.prose, {.help = "the Markdown below the front matter"});
  }
};

/// Reads and checks a program.
/// Errors: Error if the file cannot be read or has no front matter; ConfigError with all problems,
/// one line each: "programs/x.md line 12: night.experiments = 0: must be ...".
///
/// `overrides` are fields of the front matter to change first, "night.experiments=4" each.
Program read_program(const std::filesystem::path& file,
                     const std::vector<std::string>& overrides = {});

/// As read_program; `subject` names the text in errors.
Program parse_program(std::string_view markdown, const std::string& subject,
                      const std::vector<std::string>& overrides = {});

}  // namespace windtunnel::agent

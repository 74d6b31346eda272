#pragma once
// A research program: a Markdown file whose YAML front matter is enforced by code and whose prose
// is what a language model reads. programs/README.md describes every field.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/program_sections.h"
#include "base/config.h"
#include "scaling/ladder.h"
#include "study/experiment.h"
#include "study/run_config.h"

namespace windtunnel::agent {

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
  BudgetLimits budget;
  std::vector<MutablePath> mutable_paths;
  /// Path prefixes; kAlwaysFrozen (research_space.h) is added to them.
  std::vector<std::string> frozen;
  Guardrails guardrails;
  DecisionRule decision;
  Controls controls;
  AbortRule abort;
  ScaleGate scale;
  /// What the baseline's key must be (study/run_record.h); empty: whatever it is.
  std::string comparability_key;
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
    visit("budget", self.budget, {.help = "what the night may use up in all"});
    visit("mutable", self.mutable_paths, {.help = "the only paths a proposal may set"});
    visit("frozen", self.frozen, {.help = "path prefixes that no proposal may set"});
    visit("guardrails", self.guardrails, {.help = "limits of what may run and be kept"});
    visit("decision", self.decision, {.help = "when a change is kept"});
    visit("controls", self.controls, {.help = "what is checked about a kept change"});
    visit("abort", self.abort, {.help = "when a candidate is given up before its end"});
    visit("scale", self.scale, {.help = "the other size at which a gain must hold"});
    visit("comparability_key", self.comparability_key,
          {.help = "refuse to run unless the base configuration has this key, as `windtunnel "
                   "status` shows it: for studies whose results are to be compared; empty: any"});
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

/// A program as a study keeps it (fact::kProgram), with overrides laid on.
/// Errors: ConfigError with what the overrides break.
Program stored_program(base::Json document, const std::vector<std::string>& overrides);

/// As read_program; `subject` names the text in errors.
Program parse_program(std::string_view markdown, const std::string& subject,
                      const std::vector<std::string>& overrides = {});

}  // namespace windtunnel::agent

WINDTUNNEL_COMPILE_FIELDS(extern, windtunnel::agent::Program)

#pragma once
// What a night of research is made of, as stored: proposals with their predictions, and decisions.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"

namespace windtunnel::study {

/// Written before the run; scored after it.
struct Prediction {
  /// Change of validation bits per byte against the incumbent; negative is better.
  double delta_bits_per_byte = 0;
  /// 80 % interval of that change.
  double interval_low = 0;
  double interval_high = 0;
  std::optional<double> probability_kept;
  /// Relative change of tokens per second: 0.1 is a tenth more.
  std::optional<double> throughput_change;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("delta_bits_per_byte", self.delta_bits_per_byte,
          {.help = "expected change in validation bits per byte; negative is better",
           .minimum = -100,
           .maximum = 100});
    visit("interval_low", self.interval_low,
          {.help = "lower end of the 80 % interval", .minimum = -100, .maximum = 100});
    visit("interval_high", self.interval_high,
          {.help = "upper end of the 80 % interval", .minimum = -100, .maximum = 100});
    visit("probability_kept", self.probability_kept,
          {.help = "probability that the change is kept", .minimum = 0, .maximum = 1});
    visit("throughput_change", self.throughput_change,
          {.help = "expected relative change of tokens per second; 0.1 is a tenth more",
           .minimum = -1,
           .maximum = 100});
  }
};

/// What an experiment is for. Stored by name.
namespace kind {
/// A change that may become the incumbent.
inline constexpr const char* kIdea = "idea";
/// An idea again, changed so that what made it unfit does not happen; may become the incumbent.
inline constexpr const char* kRepair = "repair";
/// A kept change trained for as many steps as its incumbent: splits its gain into speed and
/// learning.
inline constexpr const char* kMatchedSteps = "matched_steps";
/// One of several paths that a kept change set, alone.
inline constexpr const char* kFactor = "factor";
/// A kept change and its incumbent at another size of the model.
inline constexpr const char* kScale = "scale";
/// Looked at, never kept: what a change does to gradients and layers.
inline constexpr const char* kDiagnostic = "diagnostic";
}  // namespace kind

/// Whether an experiment of this kind may become the one to beat.
inline bool may_be_kept(const std::string& kind) {
  return kind == kind::kIdea || kind == kind::kRepair;
}

struct Proposal {
  /// "idea" or "diagnostic"; the harness adds the other kinds itself.
  std::string kind = kind::kIdea;
  /// Dotted path -> new value, on top of the incumbent's configuration.
  base::Json patch = base::Json::object();
  std::string hypothesis;
  /// What kind of idea it is, in a word or two: predictions are scored per family.
  std::string family;
  Prediction prediction;
  /// One thing to look at besides bits per byte, and what would speak against the hypothesis.
  std::string diagnostic;
  /// When a discarded idea would be worth another look.
  std::string revisit_if;
  /// Where the idea comes from: keys of papers, as the literature proposer names them.
  std::vector<std::string> citations;
  /// Set by the harness: the kind of who proposed it, and the language model it asks ("": none).
  std::string proposer;
  std::string model;

  /// By whom predictions are scored: "random", "language_model smollm2".
  std::string author() const { return model.empty() ? proposer : proposer + " " + model; }

  /// Fields that no proposer is asked for.
  static constexpr std::array kSetByHarness = {"proposer", "model", "citations"};
  /// Fields that an answer may leave out.
  static constexpr std::array kOptional = {"kind", "family", "revisit_if"};

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kind", self.kind,
          {.help = "idea, or diagnostic: looked at with one seed and never kept",
           .choices = {"idea", "diagnostic"}});
    visit("patch", self.patch,
          {.help = "dotted path -> new value, on the incumbent",
           .schema = {{"type", "object"}, {"minProperties", 1}}});
    visit("hypothesis", self.hypothesis, {.help = "why this should help, one or two sentences"});
    visit("family", self.family,
          {.help = "what kind of idea it is, in a word or two, e.g. learning rate, routing; empty: "
                   "the first path's place"});
    visit("prediction", self.prediction, {.help = "numbers, before the run"});
    visit("diagnostic", self.diagnostic,
          {.help = "one measurement besides bits per byte to check"});
    visit("revisit_if", self.revisit_if,
          {.help = "what would make it worth another look if it is discarded"});
    visit("citations", self.citations, {.help = "papers that the idea comes from"});
    visit("proposer", self.proposer, {.help = "who proposed it"});
    visit("model", self.model, {.help = "the language model it asks; empty: none"});
  }
};

/// Stored by name.
namespace verdict {
inline constexpr const char* kKeep = "keep";
inline constexpr const char* kDiscard = "discard";
/// Better, but a router collapsed.
inline constexpr const char* kRepair = "repair";
/// A run did not complete.
inline constexpr const char* kFailed = "failed";
/// Refused before it ran.
inline constexpr const char* kVetoed = "vetoed";
/// Stopped by the criterion that was written before it ran.
inline constexpr const char* kAbort = "abort";
/// A control was measured; nothing is kept or discarded by it.
inline constexpr const char* kControl = "control";
/// Of a `scale` experiment: the gain it checks holds at the other size too.
inline constexpr const char* kScaleCandidate = "scale_candidate";
}  // namespace verdict

/// A piece of a difference: "speed", "learning", one path, one size.
struct Part {
  std::string name;
  double delta_bits_per_byte = 0;
  /// 80 % interval; null where nothing measures it.
  std::optional<double> interval_low;
  std::optional<double> interval_high;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "speed, learning, a path or a size"});
    visit("delta_bits_per_byte", self.delta_bits_per_byte, {.help = "its share of the difference"});
    visit("interval_low", self.interval_low, {.help = "80 % interval"});
    visit("interval_high", self.interval_high, {.help = "80 % interval"});
  }
};

struct Decision {
  std::string verdict;
  /// One sentence with the numbers.
  std::string reason;
  /// Mean paired difference to the incumbent; negative is better. Null if nothing could be
  /// measured.
  std::optional<double> delta_bits_per_byte;
  /// Interval of the difference at the rule's confidence.
  std::optional<double> interval_low;
  std::optional<double> interval_high;
  /// Of a kept change: the difference, allowing for the gate having let it pass.
  std::optional<double> expected_delta_bits_per_byte;
  int64_t pairs = 0;
  /// Those seeds. A kept change is measured anew on others before it is the one to beat.
  std::vector<int64_t> seeds;
  /// Of the difference.
  std::optional<double> standard_error_bits_per_byte;
  /// Standard deviation of one run over seeds that the rule used.
  std::optional<double> noise_bits_per_byte;
  /// Whether the predicted 80 % interval holds the measured difference.
  std::optional<bool> prediction_covered;
  /// yes: inside the predicted interval; partial: outside, but the sign is right; no.
  std::optional<std::string> agreement;
  /// Relative change of tokens per second.
  std::optional<double> throughput_change;
  /// What the diagnostic's figures were.
  std::string observed;
  /// Controls: what the difference of the experiment they are about is made of.
  std::vector<Part> parts;
  /// Why it would have been given up early, had it not been drawn to run on; null: it would not.
  std::optional<std::string> audited_abort;
  /// Kinds of the experiments that the harness adds because of it.
  std::vector<std::string> next;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("verdict", self.verdict,
          {.help = "keep, discard, repair, failed, vetoed, abort, control, scale_candidate"});
    visit("reason", self.reason, {.help = "one sentence with the numbers"});
    visit("delta_bits_per_byte", self.delta_bits_per_byte, {.help = "mean paired difference"});
    visit("interval_low", self.interval_low, {.help = "of the difference"});
    visit("interval_high", self.interval_high, {.help = "of the difference"});
    visit("expected_delta_bits_per_byte", self.expected_delta_bits_per_byte,
          {.help = "of a kept change, allowing for the gate having let it pass"});
    visit("pairs", self.pairs, {.help = "seeds compared"});
    visit("seeds", self.seeds, {.help = "which seeds"});
    visit("standard_error_bits_per_byte", self.standard_error_bits_per_byte,
          {.help = "of the difference"});
    visit("noise_bits_per_byte", self.noise_bits_per_byte, {.help = "sd of one run over seeds"});
    visit("prediction_covered", self.prediction_covered, {.help = "80 % interval held it"});
    visit("agreement", self.agreement, {.help = "yes, partial or no: measurement and prediction"});
    visit("throughput_change", self.throughput_change, {.help = "relative, tokens per second"});
    visit("observed", self.observed, {.help = "what the diagnostic showed"});
    visit("parts", self.parts, {.help = "what the difference is made of"});
    visit("audited_abort", self.audited_abort,
          {.help = "why it would have been given up early; it was drawn to run on"});
    visit("next", self.next, {.help = "kinds of experiments that the harness adds because of it"});
  }
};

/// The proposer's own word about a decided experiment, beside what was computed.
struct Reflection {
  std::string agreement;
  std::string interpretation;
  std::string next;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("agreement", self.agreement,
          {.help = "whether the outcome agrees with the hypothesis",
           .choices = {"yes", "partial", "no"}});
    visit("interpretation", self.interpretation, {.help = "what the outcome says, one sentence"});
    visit("next", self.next, {.help = "what should be tried because of it"});
  }
};

/// Where an experiment stands. Stored by name; one step after the other, and back from `judged` to
/// `reserved` when the sequential test asks for more pairs.
namespace state {
inline constexpr const char* kProposed = "proposed";
/// No veto speaks against it.
inline constexpr const char* kAdmitted = "admitted";
/// The budget of its next runs is set aside.
inline constexpr const char* kReserved = "reserved";
/// Its next runs have ended, scored or not.
inline constexpr const char* kEvaluated = "evaluated";
/// What its diagnostics and the vetoes after a run say is known.
inline constexpr const char* kDiagnosed = "diagnosed";
/// Terminal: the decision is recorded.
inline constexpr const char* kDecided = "decided";
}  // namespace state

/// One experiment of the journal.
struct Experiment {
  int64_t number = 0;
  Proposal proposal;
  /// Resolved configuration, without seed; null for a vetoed proposal that has none.
  base::Json config;
  std::string config_fingerprint;
  /// Number of the experiment whose configuration was the incumbent; 0 is the baseline.
  int64_t parent = 0;
  /// Repairs and controls: the experiment they are about; 0 for ideas.
  int64_t about = 0;
  /// Number of the first experiment of its line of thought: its own, or that of `about`.
  int64_t thread = 0;
  std::string state = state::kProposed;
  std::optional<Decision> decision;
  std::optional<Reflection> reflection;
  /// Why its result, or that of an incumbent it was built on, is no longer believed; empty: it is.
  std::string doubt;
  std::string proposed_at;

  bool is_kept() const { return decision && decision->verdict == verdict::kKeep && doubt.empty(); }
};

/// Its family, or where the first path of its patch lies: "train.optimizer", "model.layers.E".
std::string family_of(const Proposal& proposal);

}  // namespace windtunnel::study

WINDTUNNEL_COMPILE_FIELDS(extern, windtunnel::study::Proposal)
WINDTUNNEL_COMPILE_FIELDS(extern, windtunnel::study::Decision)

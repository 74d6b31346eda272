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
  }
};

struct Proposal {
  /// Dotted path -> new value, on top of the incumbent's configuration.
  base::Json patch = base::Json::object();
  std::string hypothesis;
  Prediction prediction;
  /// One thing to look at besides bits per byte, and what would speak against the hypothesis.
  std::string diagnostic;
  /// Set by the harness: who proposed it.
  std::string proposer;

  /// Fields that no proposer is asked for.
  static constexpr std::array kSetByHarness = {"proposer"};

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("patch", self.patch,
          {.help = "dotted path -> new value, on the incumbent",
           .schema = {{"type", "object"}, {"minProperties", 1}}});
    visit("hypothesis", self.hypothesis, {.help = "why this should help, one or two sentences"});
    visit("prediction", self.prediction, {.help = "numbers, before the run"});
    visit("diagnostic", self.diagnostic,
          {.help = "one measurement besides bits per byte to check"});
    visit("proposer", self.proposer, {.help = "who proposed it"});
  }
};

/// Stored by name: keep, discard, repair (better, but a router collapsed), failed, vetoed.
namespace verdict {
inline constexpr const char* kKeep = "keep";
inline constexpr const char* kDiscard = "discard";
inline constexpr const char* kRepair = "repair";
inline constexpr const char* kFailed = "failed";
inline constexpr const char* kVetoed = "vetoed";
}  // namespace verdict

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
  int64_t pairs = 0;
  /// Those seeds. A kept change is measured anew on others before it is the one to beat.
  std::vector<int64_t> seeds;
  /// Of the difference.
  std::optional<double> standard_error_bits_per_byte;
  /// Standard deviation of one run over seeds that the rule used.
  std::optional<double> noise_bits_per_byte;
  /// Whether the predicted 80 % interval holds the measured difference.
  std::optional<bool> prediction_covered;
  /// Relative change of tokens per second.
  std::optional<double> throughput_change;
  /// What the diagnostic's figures were.
  std::string observed;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("verdict", self.verdict, {.help = "keep, discard, repair, failed, vetoed"});
    visit("reason", self.reason, {.help = "one sentence with the numbers"});
    visit("delta_bits_per_byte", self.delta_bits_per_byte, {.help = "mean paired difference"});
    visit("interval_low", self.interval_low, {.help = "of the difference"});
    visit("interval_high", self.interval_high, {.help = "of the difference"});
    visit("pairs", self.pairs, {.help = "seeds compared"});
    visit("seeds", self.seeds, {.help = "which seeds"});
    visit("standard_error_bits_per_byte", self.standard_error_bits_per_byte,
          {.help = "of the difference"});
    visit("noise_bits_per_byte", self.noise_bits_per_byte, {.help = "sd of one run over seeds"});
    visit("prediction_covered", self.prediction_covered, {.help = "80 % interval held it"});
    visit("throughput_change", self.throughput_change, {.help = "relative, tokens per second"});
    visit("observed", self.observed, {.help = "what the diagnostic showed"});
  }
};

/// One experiment of the journal.
struct Experiment {
  int64_t number = 0;
  Proposal proposal;
  /// Resolved configuration, without seed; null for a vetoed proposal that has none.
  base::Json config;
  std::string config_fingerprint;
  /// Number of the experiment whose configuration was the incumbent; 0 is the baseline.
  int64_t parent = 0;
  /// "proposed", then "decided".
  std::string state = "proposed";
  std::optional<Decision> decision;
  std::string proposed_at;
};

}  // namespace windtunnel::study

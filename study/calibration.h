#pragma once
// How good the predictions were, per proposer (with its model) and per family of ideas: shown in
// reports and to the proposer in its next prompt.

#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "study/journal.h"

namespace windtunnel::study {

struct Calibration {
  /// "all", or Proposal::author().
  std::string proposer;
  /// "all", or a family of ideas.
  std::string family;
  int64_t decided = 0;
  int64_t kept = 0;
  int64_t vetoed = 0;
  int64_t failed = 0;
  /// Predictions whose difference was measured, and those of them whose 80 % interval held it.
  int64_t measured = 0;
  int64_t covered = 0;
  std::optional<double> interval_coverage;
  /// Mean of predicted - measured; negative: promises too much.
  std::optional<double> bias_bits_per_byte;
  std::optional<double> mean_absolute_error_bits_per_byte;
  /// Experiments that ran and had stated a probability of being kept, and the mean squared error of
  /// that probability: 0 is perfect, 0.25 is what 50 % each time earns.
  int64_t probabilities = 0;
  std::optional<double> brier_score;
  /// Predictions of the change in tokens per second that were measured, and their mean absolute
  /// error.
  int64_t throughputs = 0;
  std::optional<double> mean_absolute_error_throughput;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("proposer", self.proposer, {.help = "all, or the kind of a proposer and its model"});
    visit("family", self.family, {.help = "all, or a family of ideas"});
    visit("decided", self.decided, {.help = "proposals that are decided"});
    visit("kept", self.kept, {.help = "of those"});
    visit("vetoed", self.vetoed, {.help = "of those"});
    visit("failed", self.failed, {.help = "of those"});
    visit("measured", self.measured, {.help = "predictions whose difference was measured"});
    visit("covered", self.covered, {.help = "of those, whose 80 % interval held it"});
    visit("interval_coverage", self.interval_coverage, {.help = "covered over measured"});
    visit("bias_bits_per_byte", self.bias_bits_per_byte,
          {.help = "mean of predicted - measured; negative promises too much"});
    visit("mean_absolute_error_bits_per_byte", self.mean_absolute_error_bits_per_byte,
          {.help = "of the point prediction"});
    visit("probabilities", self.probabilities, {.help = "stated probabilities that were scored"});
    visit("brier_score", self.brier_score,
          {.help = "mean squared error of the probability of being kept"});
    visit("throughputs", self.throughputs, {.help = "predicted changes of tokens per second"});
    visit("mean_absolute_error_throughput", self.mean_absolute_error_throughput,
          {.help = "of the predicted relative change of tokens per second"});
  }
};

/// One row for all together, then one for each proposer by name, then one for each family of each
/// proposer that has more than one. The harness's own controls count nowhere; a vetoed experiment
/// has no outcome to score; a failed one counts as not kept.
std::vector<Calibration> calibrate(const std::vector<ScoredGroup>& groups);

}  // namespace windtunnel::study

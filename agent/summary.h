#pragma once
// Where a night stands, from its journal alone: for `status`, `show`, the report, and the loop.

#include <optional>
#include <string>
#include <vector>

#include "agent/facts.h"
#include "agent/noise.h"
#include "base/config.h"
#include "study/calibration.h"
#include "study/journal.h"

namespace windtunnel::agent {

/// One kept change.
struct KeptStep {
  int64_t experiment = 0;
  std::string proposer;
  std::string hypothesis;
  base::Json patch = base::Json::object();
  double delta_bits_per_byte = 0;
  std::optional<double> interval_low;
  std::optional<double> interval_high;
  /// Allowing for the gate having let it pass; see expected_difference() in decision.h.
  std::optional<double> expected_delta_bits_per_byte;
  /// Sum of the measured paired differences up to here, and of the expected ones.
  double cumulative_delta_bits_per_byte = 0;
  double cumulative_expected_delta_bits_per_byte = 0;
  /// Mean of the runs of this configuration.
  std::optional<double> bits_per_byte;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("experiment", self.experiment, {.help = "its number"});
    visit("proposer", self.proposer, {.help = "who proposed it"});
    visit("hypothesis", self.hypothesis, {.help = "why it should help"});
    visit("patch", self.patch, {.help = "dotted path -> new value, on the incumbent before it"});
    visit("delta_bits_per_byte", self.delta_bits_per_byte, {.help = "mean paired difference"});
    visit("interval_low", self.interval_low, {.help = "of the difference"});
    visit("interval_high", self.interval_high, {.help = "of the difference"});
    visit("expected_delta_bits_per_byte", self.expected_delta_bits_per_byte,
          {.help = "the difference, allowing for the gate having let it pass"});
    visit("cumulative_delta_bits_per_byte", self.cumulative_delta_bits_per_byte,
          {.help = "sum of differences up to this step"});
    visit("cumulative_expected_delta_bits_per_byte", self.cumulative_expected_delta_bits_per_byte,
          {.help = "sum of expected differences up to this step"});
    visit("bits_per_byte", self.bits_per_byte, {.help = "mean of its runs"});
  }
};

struct NightSummary {
  int64_t kept = 0;
  int64_t discarded = 0;
  int64_t repair = 0;
  int64_t failed = 0;
  int64_t vetoed = 0;
  int64_t aborted = 0;
  /// Decided experiments of the harness: controls and checks at another size.
  int64_t controls = 0;
  /// Kept once, but no longer believed.
  int64_t doubted = 0;
  int64_t undecided = 0;
  /// Runs with a record, and those of them that completed.
  int64_t runs = 0;
  int64_t runs_completed = 0;
  double device_seconds = 0;
  /// Number of the last kept experiment; 0 is the baseline.
  int64_t incumbent = 0;
  std::optional<double> baseline_bits_per_byte;
  /// Mean of the incumbent's runs.
  std::optional<double> best_bits_per_byte;
  std::optional<Noise> noise;
  std::vector<KeptStep> staircase;
  std::vector<study::Calibration> calibration;
  study::AbortAudit abort_audit;
  /// Null while the night goes on.
  std::optional<std::string> stop_reason;
  /// Resolved configuration of the incumbent, without seed; null before the baseline is known.
  base::Json best_config;

  /// Experiments that ran and are decided.
  int64_t decided() const { return kept + doubted + discarded + repair + failed + aborted; }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kept", self.kept, {.help = "experiments kept"});
    visit("discarded", self.discarded, {.help = "experiments discarded"});
    visit("repair", self.repair, {.help = "better, but vetoed after the run"});
    visit("failed", self.failed, {.help = "experiments with a run that did not complete"});
    visit("vetoed", self.vetoed, {.help = "experiments refused before running"});
    visit("aborted", self.aborted, {.help = "experiments given up early"});
    visit("controls", self.controls, {.help = "controls and checks at another size"});
    visit("doubted", self.doubted, {.help = "kept once, but no longer believed"});
    visit("undecided", self.undecided, {.help = "experiments in progress"});
    visit("runs", self.runs, {.help = "runs of the night that have a record"});
    visit("runs_completed", self.runs_completed, {.help = "runs that completed"});
    visit("device_seconds", self.device_seconds,
          {.help = "of all its runs, start-up and evaluation included", .unit = "seconds"});
    visit("incumbent", self.incumbent, {.help = "last kept experiment; 0 is the baseline"});
    visit("baseline_bits_per_byte", self.baseline_bits_per_byte, {.help = "mean of its runs"});
    visit("best_bits_per_byte", self.best_bits_per_byte, {.help = "mean of the incumbent's runs"});
    visit("noise", self.noise, {.help = "how much runs differ by seed alone"});
    visit("staircase", self.staircase, {.help = "the kept changes in order"});
    visit("calibration", self.calibration, {.help = "how good the predictions were"});
    visit("abort_audit", self.abort_audit, {.help = "how often giving up early was wrong"});
    visit("stop_reason", self.stop_reason, {.help = "why the night ended; null while it goes on"});
    visit("best_config", self.best_config, {.help = "the incumbent's configuration"});
  }
};

/// Of a study without a night it holds zero counts and nulls.
NightSummary summarise(const study::Journal& journal);

}  // namespace windtunnel::agent

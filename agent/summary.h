#pragma once
// Where a night stands, from its journal alone: for `status`, `show`, the report, and the loop.

#include <optional>
#include <string>
#include <vector>

#include "agent/calibration.h"
#include "agent/noise.h"
#include "base/config.h"
#include "study/journal.h"

namespace windtunnel::agent {

/// Names of the facts that the research loop writes.
namespace fact {
/// {"config", "fingerprint"}: the resolved baseline, without seed.
inline constexpr const char* kBaseline = "baseline";
/// Noise, from all runs so far.
inline constexpr const char* kNoise = "noise";
/// {"reason", "text", "night"}: why the night ended, and the limits it ended under.
inline constexpr const char* kStop = "night.stop";
}  // namespace fact

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
  int64_t undecided = 0;
  /// Runs with a record, and those of them that completed.
  int64_t runs = 0;
  int64_t runs_completed = 0;
  /// Number of the last kept experiment; 0 is the baseline.
  int64_t incumbent = 0;
  std::optional<double> baseline_bits_per_byte;
  /// Mean of the incumbent's runs.
  std::optional<double> best_bits_per_byte;
  std::optional<Noise> noise;
  std::vector<KeptStep> staircase;
  std::vector<Calibration> calibration;
  /// Null while the night goes on.
  std::optional<std::string> stop_reason;
  /// Resolved configuration of the incumbent, without seed; null before the baseline is known.
  base::Json best_config;

  /// keep, discard, repair and failed: all but vetoed and undecided.
  int64_t decided() const { return kept + discarded + repair + failed; }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kept", self.kept, {.help = "experiments kept"});
    visit("discarded", self.discarded, {.help = "experiments discarded"});
    visit("repair", self.repair, {.help = "better, but vetoed after the run"});
    visit("failed", self.failed, {.help = "experiments with a run that did not complete"});
    visit("vetoed", self.vetoed, {.help = "experiments refused before running"});
    visit("undecided", self.undecided, {.help = "experiments in progress"});
    visit("runs", self.runs, {.help = "runs of the night that have a record"});
    visit("runs_completed", self.runs_completed, {.help = "runs that completed"});
    visit("incumbent", self.incumbent, {.help = "last kept experiment; 0 is the baseline"});
    visit("baseline_bits_per_byte", self.baseline_bits_per_byte, {.help = "mean of its runs"});
    visit("best_bits_per_byte", self.best_bits_per_byte, {.help = "mean of the incumbent's runs"});
    visit("noise", self.noise, {.help = "how much runs differ by seed alone"});
    visit("staircase", self.staircase, {.help = "the kept changes in order"});
    visit("calibration", self.calibration, {.help = "how good the predictions were"});
    visit("stop_reason", self.stop_reason, {.help = "why the night ended; null while it goes on"});
    visit("best_config", self.best_config, {.help = "the incumbent's configuration"});
  }
};

/// Of a study without a night it holds zero counts and nulls.
NightSummary summarise(const study::Journal& journal);

/// Number of the last kept experiment; 0 is the baseline.
int64_t incumbent_of(const std::vector<study::Experiment>& experiments);

/// Mean over the completed runs of an experiment (0: the baseline); null if it has none.
std::optional<double> mean_bits_per_byte(const std::vector<study::JournalRun>& runs,
                                         int64_t experiment);

}  // namespace windtunnel::agent

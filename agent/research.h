#pragma once
// The night: propose, veto, run, judge, record, until a named reason to stop.
//
//   baseline     the base configuration with seeds 1 .. k: the noise, and the first incumbent
//   propose      the program's proposers, with the noise, the incumbent and the history
//   record       the experiment with its prediction goes to the journal before anything runs
//   veto         a refused one is decided at once
//   run          candidate and incumbent on the same seeds; the harness owns the seeds
//   judge        after each group of pairs (decision.h); a keep becomes the incumbent
//   diagnose     a better one with a collapsed router is "repair", not kept
//
// Nothing is remembered outside the journal: each step reads where the night stands and does what
// comes next, so a study continues from a kill at any instant as if nothing had happened.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/program.h"
#include "study/journal.h"
#include "study/runner.h"

namespace windtunnel::agent {

/// Why a night ended; stored by name.
namespace stop_reason {
inline constexpr const char* kExperimentsDone = "experiments_done";
inline constexpr const char* kTimeSpent = "time_spent";
inline constexpr const char* kConsecutiveFailures = "consecutive_failures";
inline constexpr const char* kPlateau = "plateau";
/// No proposer has anything new, or everything they propose is vetoed.
inline constexpr const char* kNoProposals = "no_proposals";
}  // namespace stop_reason

struct NightProgress {
  /// "baseline", "proposing", "experiment".
  std::string phase;
  /// The experiment in progress; 0 while the baseline runs.
  int64_t experiment = 0;
  /// While a language model's turn is waited for: "language model, 12.3 s of at most 2 min 00 s".
  std::string waiting = {};
  /// Decided so far (vetoed ones are not), and how many are to be.
  int64_t decided = 0;
  int64_t planned = 0;
  /// Of the night, in [0, 1], from the number of runs still expected.
  double fraction = 0;
  /// Null until the first run has ended.
  std::optional<double> seconds_left;
  /// Runs in flight.
  std::vector<study::RunProgress> runs;
};

/// Where a night shows itself.
class NightView {
 public:
  virtual ~NightView() = default;
  /// Several times a second.
  virtual void update(const NightProgress& progress) = 0;
  /// A line that stays: the baseline, a decision, the end.
  virtual void line(const std::string& text) = 0;
};

/// Runs a night to its end, or continues one, and returns the stop reason (also the fact
/// "night.stop"). A finished night returns at once unless the program's night limits changed.
///
/// `program.base` names its corpus (data.corpus); the runs' folders are under `study`/runs.
/// Errors: Interrupted when a stop was asked for, with everything saved; ConfigError for a base
/// configuration that cannot run; Error if the baseline changed since the study began or fewer than
/// two of its replicates complete.
std::string run_night(const Program& program, study::Journal& journal, study::Runner& runner,
                      const std::filesystem::path& study, NightView& view);

}  // namespace windtunnel::agent

#pragma once
// The night: propose, veto, reserve, run, evaluate, diagnose, judge, record, and what follows from
// it, until a named reason to stop (facts.h).
//
//   baseline     the base configuration with seeds 1 .. k: the noise, and the first incumbent
//   experiment   a state machine of its own (experiment_machine.h)
//   incumbent    a kept change is measured anew on seeds that did not choose it; if those are no
//                better than its parent's runs it is no longer believed, and the parent is back
//   follow-ups   repairs and controls that the harness adds by itself (follow_up.h)
//   propose      the program's proposers, with the noise, the incumbent, the history and what is
//                left of the budget
//
// Nothing is remembered outside the journal: each step reads where the night stands and does what
// comes next, so a study continues from a kill at any instant as if nothing had happened.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/facts.h"
#include "agent/program.h"
#include "agent/proposer.h"
#include "study/journal.h"
#include "study/runner.h"

namespace windtunnel::agent {

using ProposalSource = std::function<std::optional<study::Proposal>(const ProposalContext&)>;

struct NightProgress {
  /// "baseline", "incumbent", "proposing", "experiment", or the kind of a control.
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
///
/// `proposals` replaces the program's proposers: a replay's.
std::string run_night(const Program& program, study::Journal& journal, study::Runner& runner,
                      const std::filesystem::path& study, NightView& view,
                      const ProposalSource& proposals = {});

/// Marks an experiment as no longer believed, with everything that was built on it or compared with
/// it. Errors: Error if it does not exist or is not decided.
void doubt(study::Journal& journal, int64_t experiment, const std::string& reason);

}  // namespace windtunnel::agent

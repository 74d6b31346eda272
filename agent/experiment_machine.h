#pragma once
// One experiment from its proposal to its decision, as a state machine whose states are in the
// journal. Each step does one thing and journals the next state, or does nothing.
//
//   proposed  -> admitted    no veto speaks against it (else decided: vetoed)
//   admitted  -> reserved    the budget of the runs up to the next look is set aside (else
//                            decided: vetoed, or discard after an undecided look)
//   reserved  -> evaluated   those runs have ended; each was trained, and scored by another process
//   evaluated -> diagnosed   every run has a score, and what vetoes after a run say is known
//                            (else decided: failed, abort)
//   diagnosed -> decided     keep, discard, repair, control, scale_candidate
//             -> admitted    the sequential test asks for more pairs
//
// A killed step is done again from the same journal, so it arrives at the same state.

#include <filesystem>
#include <functional>
#include <vector>

#include "agent/budget.h"
#include "agent/night_state.h"
#include "agent/trial.h"
#include "study/runner.h"

namespace windtunnel::agent {

/// What an experiment is worked on with; all outlive the machine.
struct Workshop {
  const Program& program;
  study::Journal& journal;
  NightState& state;
  Budget& budget;
  std::filesystem::path study;
  /// Runs what is missing of a plan, and shows it. `on_tick` may end runs early.
  std::function<void(const std::vector<study::PlannedRun>& plan, int64_t experiment,
                     const std::function<void(study::Runner&)>& on_tick)>
      run;
  /// Device time that one run is expected to take.
  std::function<double(const study::RunConfig&)> seconds_per_run;
};

class ExperimentMachine {
 public:
  explicit ExperimentMachine(Workshop& workshop) : shop_(workshop) {}

  /// One step of an undecided experiment. Errors: those of the runs; Interrupted.
  void step(const study::Experiment& experiment);

 private:
  void admit(const study::Experiment& experiment);
  void reserve(const study::Experiment& experiment);
  void run(const study::Experiment& experiment);
  void diagnose(const study::Experiment& experiment);
  void judge(const study::Experiment& experiment);

  /// Settles the budget and writes the decision at once.
  void decide(const study::Experiment& experiment, study::Decision decision);
  /// How often its budget was set aside: looks that were begun.
  size_t reservations(int64_t experiment) const;
  /// The look that it is on the way to.
  int64_t pairs_now(const study::Experiment& experiment, const Trial& trial) const;
  void abort_hopeless(const study::Experiment& experiment, const Trial& trial,
                      study::Runner& runner) const;
  std::optional<std::string> audited_abort(const study::Experiment& experiment, const Trial& trial,
                                           const std::vector<Pair>& pairs) const;
  std::vector<study::CurvePoint> curve_of(const std::string& run) const;

  Workshop& shop_;
};

}  // namespace windtunnel::agent

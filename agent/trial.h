#pragma once
// What an experiment runs: a candidate and a reference on the same seeds. The harness owns the
// seeds.

#include <optional>
#include <vector>

#include "agent/decision.h"
#include "agent/night_state.h"
#include "study/run_missing.h"

namespace windtunnel::agent {

struct Trial {
  int64_t experiment = 0;
  study::RunConfig candidate, reference;
  /// Whose runs the reference's are: those of an incumbent, which all that are compared with it
  /// share, or the experiment's own.
  int64_t reference_of = 0;
  bool reference_is_own = false;
  /// Pairs after which it is looked at.
  std::vector<int64_t> looks;
  /// Fixed seeds; empty: those of the incumbent from `first_seed` on, passing over seeds with which
  /// it does not complete.
  std::vector<int64_t> seeds;
  int64_t first_seed = 1;
  /// Ideas and repairs.
  std::optional<SequentialTest> test;
};

/// Of an admitted experiment, from what was known before it began.
Trial trial_of(const study::Experiment& experiment, const NightState& state,
               const Program& program);

/// The runs of the first `count` pairs, candidates first.
struct PlannedPairs {
  std::vector<int64_t> seeds;
  std::vector<study::PlannedRun> runs;
  /// Why there are too few; empty: there are enough.
  std::string problem;
};
PlannedPairs plan_pairs(const Trial& trial, int64_t count, const NightState& state,
                        const Program& program);

/// The first run of the experiment's own that did not complete, or nullptr.
const study::RunRecord* failed_run(const Trial& trial, const NightState& state);

/// The pairs of finished runs.
struct PairedRuns {
  std::vector<Pair> pairs;
  /// A run of the incumbent did not complete: other seeds are needed.
  bool lacks_reference = false;
};
PairedRuns paired_runs(const Trial& trial, const std::vector<int64_t>& seeds,
                       const NightState& state);

}  // namespace windtunnel::agent

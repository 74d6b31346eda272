#pragma once
// How much of a night is left.

#include <set>
#include <string>
#include <vector>

#include "agent/night_state.h"
#include "agent/research.h"
#include "study/run_missing.h"

namespace windtunnel::agent {

/// Seconds that one run is expected to take from start to score: the mean of the night's runs, or,
/// before there are any, the budget and a fifth where it is in seconds; 0 where nothing is known.
double expected_seconds(const NightState& state, const study::RunConfig& config);

/// "60 experiments of 2 to 8 pairs, some 4 h 30 min at 135 s a run, ...": what the night will take,
/// beside its limits.
std::string plan_text(const Program& program, const NightState& state);

/// Progress while a plan runs, if experiments go on to take as many runs as they did so far.
class RunsForecast {
 public:
  RunsForecast(const Program& program, const NightState& state,
               const std::vector<study::PlannedRun>& plan, int64_t experiment, int slots);

  /// Fills in runs, fraction and time left.
  void update(const std::vector<study::RunProgress>& in_flight, NightProgress& progress);

 private:
  double done_ = 0;
  double left_ = 0;
  /// Of the wall clock, all slots busy; nullopt before the first run has ended.
  std::optional<double> seconds_per_run_;
  std::set<std::string> started_;
};

}  // namespace windtunnel::agent

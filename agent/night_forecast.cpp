#include "agent/night_forecast.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace windtunnel::agent {

using study::JournalRun;

namespace {

struct Finished {
  double runs = 0;
  double seconds = 0;
};

Finished finished_runs(const NightState& state) {
  Finished finished;
  for (const JournalRun& run : state.runs()) {
    if (!run.experiment || !run.record) continue;
    finished.runs += 1;
    finished.seconds += run.record->wall_seconds;
  }
  return finished;
}

/// Runs of candidates over decided experiments.
double runs_each(const Program& program, const NightState& state, int64_t but) {
  double runs = 0;
  for (const JournalRun& run : state.runs()) {
    if (run.experiment && *run.experiment != 0 && *run.experiment != but && run.record) runs += 1;
  }
  const auto decided = static_cast<double>(state.decided());
  return decided > 0 ? runs / decided : static_cast<double>(program.decision.min_pairs);
}

}  // namespace

double expected_seconds(const NightState& state, const study::RunConfig& config) {
  const Finished finished = finished_runs(state);
  if (finished.runs > 0) return finished.seconds / finished.runs;
  return config.train.budget.kind == "seconds" ? 1.2 * config.train.budget.amount : 0.0;
}

std::string plan_text(const Program& program, const NightState& state) {
  const auto left =
      static_cast<double>(std::max<int64_t>(0, program.night.experiments - state.decided()));
  const double seconds = expected_seconds(state, runnable(state.config_of(0)));
  const auto duration = [&](int64_t runs) {
    return base::format_duration(left * static_cast<double>(runs) * seconds /
                                 static_cast<double>(program.slots));
  };
  std::string text = fmt::format(
      "{} experiments of {} to {} pairs at {} a run: {} to {}", static_cast<int64_t>(left),
      program.decision.min_pairs, program.decision.max_pairs, base::format_duration(seconds),
      duration(program.decision.min_pairs), duration(program.decision.max_pairs));
  std::vector<std::string> limits;
  const BudgetLimits& budget = program.budget;
  if (budget.device_seconds > 0) {
    limits.push_back(base::format_duration(budget.device_seconds) + " of device time");
  }
  if (budget.runs > 0) limits.push_back(std::to_string(budget.runs) + " runs");
  if (budget.dollars > 0) limits.push_back(base::format_number(budget.dollars) + " dollars");
  if (budget.hours > 0) limits.push_back(base::format_number(budget.hours) + " hours");
  if (!limits.empty()) text += "; it ends at " + base::join(limits, ", ") + " at the latest";
  return text;
}

RunsForecast::RunsForecast(const Program& program, const NightState& state,
                           const std::vector<study::PlannedRun>& plan, int64_t experiment,
                           int slots) {
  const Finished finished = finished_runs(state);
  done_ = finished.runs;
  if (done_ > 0) seconds_per_run_ = finished.seconds / done_ / std::max(1, slots);
  left_ = static_cast<double>(state.missing(plan));
  const double later = static_cast<double>(program.night.experiments - state.decided()) -
                       (experiment > 0 ? 1.0 : 0.0);
  left_ += std::max(0.0, later) * runs_each(program, state, experiment);
}

void RunsForecast::update(const std::vector<study::RunProgress>& in_flight,
                          NightProgress& progress) {
  progress.runs = in_flight;
  double under_way = 0;
  for (const study::RunProgress& run : in_flight) {
    started_.insert(run.id);
    under_way += run.latest.progress;
  }
  // A run that was in flight and is no more has ended.
  const double ended = static_cast<double>(started_.size()) - static_cast<double>(in_flight.size());
  const double done = done_ + ended + under_way;
  const double left = std::max(0.0, left_ - ended - under_way);
  progress.fraction = done / std::max(1.0, done + left);
  if (seconds_per_run_) progress.seconds_left = left * *seconds_per_run_;
}

}  // namespace windtunnel::agent

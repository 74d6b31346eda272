#include "report/phases.h"

#include <algorithm>

#include "report/wording.h"

namespace windtunnel::report {
namespace {

PhaseTotals& totals_of(const std::string& purpose, std::vector<PhaseTotals>& all) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& totals) { return totals.purpose == purpose; });
  if (found != all.end()) return *found;
  all.push_back({.purpose = purpose});
  return all.back();
}

}  // namespace

std::vector<PhaseTotals> phase_totals(const StudyData& data) {
  std::vector<PhaseTotals> all;
  for (const auto& run : data.runs) {
    if (!run.record) continue;
    PhaseTotals& totals = totals_of(run.purpose, all);
    ++totals.runs;
    totals.wall_seconds += run.record->wall_seconds;
    const study::PhaseSeconds& phases = run.record->train.seconds;
    const std::optional<double> parts[] = {phases.startup, phases.warmup, phases.training,
                                           phases.checkpoint, phases.evaluation};
    double accounted = 0;
    for (size_t i = 0; i < std::size(parts); ++i) {
      if (!finite(parts[i])) continue;
      totals.seconds[i] = totals.seconds[i].value_or(0) + *parts[i];
      accounted += *parts[i];
    }
    const double rest = std::max(0.0, run.record->wall_seconds - accounted);
    totals.seconds.back() = totals.seconds.back().value_or(0) + rest;
  }
  return all;
}

}  // namespace windtunnel::report

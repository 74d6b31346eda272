#include "cli/ladder_progress.h"

#include <algorithm>

#include "base/clock.h"
#include "cli/run_progress.h"

namespace windtunnel::cli {

LadderProgress::LadderProgress(const scaling::LadderPlan& plan, const study::Journal& journal,
                               base::Progress& progress)
    : plan_(plan), journal_(journal), progress_(progress), start_(base::monotonic_seconds()) {
  count_runs();
  done_at_start_ = ended_;
}

void LadderProgress::tick(const study::Runner& runner) {
  const auto glimpses = runner.progress();
  std::set<std::string> in_flight;
  for (const study::RunProgress& glimpse : glimpses) in_flight.insert(glimpse.id);
  if (in_flight != in_flight_) {
    in_flight_ = in_flight;
    count_runs();
  }
  const double fraction = done(glimpses) / total_;
  const double since = fraction - done_at_start_ / total_;
  const double elapsed = base::monotonic_seconds() - start_;
  if (since > 0.01) {
    progress_.update_with_left(fraction, elapsed * (1 - fraction) / since, text_of(glimpses));
  } else if (plan_.expected_seconds) {
    progress_.update_with_left(fraction, *plan_.expected_seconds * (1 - fraction),
                               text_of(glimpses));
  } else {
    progress_.update(fraction, text_of(glimpses));
  }
}

void LadderProgress::count_runs() {
  std::map<std::string, int64_t> known;
  const auto record_of = scaling::records_in(journal_);
  flops_.clear();
  ended_ = 0;
  for (const auto& run : scaling::ladder_state(plan_, record_of).runs) {
    ++known[run.rung];
    flops_[run.id] = run.flops_exact;
    if (record_of(run.id)) ended_ += run.flops_exact;
  }
  total_ = 0;
  for (const scaling::PlannedRung& rung : plan_.rungs) {
    total_ += static_cast<double>(std::max(known[rung.name], rung.runs)) * rung.flops_exact;
  }
}

double LadderProgress::done(const std::vector<study::RunProgress>& glimpses) const {
  double sum = ended_;
  for (const study::RunProgress& glimpse : glimpses) {
    const auto found = flops_.find(glimpse.id);
    if (found != flops_.end()) sum += found->second * glimpse.latest.progress;
  }
  return sum;
}

}  // namespace windtunnel::cli

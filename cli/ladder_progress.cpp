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
  const auto record_of = scaling::records_in(journal_);
  const scaling::LadderState state = scaling::ladder_state(plan_, record_of);
  flops_.clear();
  for (const auto& run : state.runs) flops_[run.id] = run.flops_exact;
  const scaling::LadderCount count = scaling::count_runs(plan_, state, record_of);
  ended_ = count.flops_ended;
  total_ = count.flops_all;
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

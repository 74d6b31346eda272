#pragma once
// How far a ladder is, on the terminal.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/progress.h"
#include "scaling/ladder.h"
#include "scaling/ladder_state.h"
#include "study/journal.h"
#include "study/runner.h"

namespace windtunnel::cli {

/// By the FLOPs of its runs; keeps what was there when the session began apart, so that the time
/// left comes from this session's speed. Runs that extend a grid are counted once they are known.
class LadderProgress {
 public:
  LadderProgress(const scaling::LadderPlan& plan, const study::Journal& journal,
                 base::Progress& progress);

  void tick(const study::Runner& runner);

 private:
  /// Asks the journal again; only when another run is in flight than before.
  void count_runs();
  double done(const std::vector<study::RunProgress>& glimpses) const;

  const scaling::LadderPlan& plan_;
  const study::Journal& journal_;
  base::Progress& progress_;
  double start_;
  std::set<std::string> in_flight_;
  std::map<std::string, double> flops_;
  double ended_ = 0;
  double total_ = 0;
  double done_at_start_ = 0;
};

}  // namespace windtunnel::cli

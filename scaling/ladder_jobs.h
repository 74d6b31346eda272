#pragma once
// A ladder's runs written out for a scheduler, and their results taken back. In the folder:
//
//   <run id>/config.json           everything a run needs; the corpus by its absolute path
//   <run id>/journal.db, runs/     written by the job: a study of its own, which continues after a
//                                  kill and which two processes cannot run at once
//   array.sh                       a Slurm array over the runs that can start now
//
// A ladder whose sizes are tuned comes in waves: what a wave found decides the next.

#include <filesystem>
#include <string>
#include <vector>

#include "scaling/ladder.h"
#include "scaling/ladder_state.h"

namespace windtunnel::scaling {

/// Takes the records of jobs that have ended into the study: small files of the run's folder, then
/// the journal. Once each, whenever it is killed. Returns how many were new.
/// Errors: Error naming the file if a record is of another configuration or seed than the plan's.
int64_t collect_jobs(const LadderPlan& plan, study::Journal& journal,
                     const std::filesystem::path& study);

/// Runs that were written out and have not ended. Empty once their folder is gone.
std::vector<std::string> open_jobs(const LadderPlan& plan, const study::Journal& journal);

struct JobsWritten {
  std::filesystem::path script;
  /// Ids in the array.
  std::vector<std::string> runs;
  int64_t ended = 0;
  /// Rungs that wait for these.
  int64_t waiting = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("runs", self.runs, {.help = "in the array"});
    visit("ended", self.ended, {.help = "runs that have a record"});
    visit("waiting", self.waiting, {.help = "rungs whose runs follow from these"});
  }
};

/// Stores the plan and writes what can run and has not ended; `program` is the command that a job
/// calls. A job that is there already keeps its folder and what it has trained.
/// Errors: as store_plan and collect_jobs; Error if the study's jobs are in another folder.
JobsWritten write_jobs(const LadderPlan& plan, study::Journal& journal,
                       const std::filesystem::path& study, const std::filesystem::path& folder,
                       const std::filesystem::path& program);

}  // namespace windtunnel::scaling

#pragma once
// One run from its request to its record: training, evaluation, and what happens when either fails.
//
//   waiting -> training -> evaluating -> done
//     waiting     another study has the device
//     training    out of memory: once more with half the micro-batch, the same total batch
//     evaluating  a crash: once more with half the rows; the training is not lost
//
// A run that diverged is not repeated: it would diverge again. Whatever happens becomes a typed
// outcome (run_record.h); only a score that survives quarantine.h makes the run completed.

#include <memory>
#include <optional>

#include "base/child_process.h"
#include "study/job_limits.h"
#include "study/machine_load.h"
#include "study/quarantine.h"
#include "study/runner.h"
#include "study/stall_watch.h"
#include "study/trusted_files.h"

namespace windtunnel::study {

/// What all runs of a runner share; owned by the runner and not moved.
struct Workshop {
  std::filesystem::path study;
  std::filesystem::path trainer;
  std::string code_version;
  JobLimits limits;
  base::HashCache hashes;
  SeenScores seen;
};

/// The variable that names the study in the environment of all its processes, so that those of a
/// control program that was killed are found.
inline constexpr const char* kStudyVariable = "WINDTUNNEL_STUDY";
/// Its value for a study.
std::string study_marker(const std::filesystem::path& study);

class Job {
 public:
  /// Prepares the run folder; nothing runs yet.
  Job(Workshop& workshop, const RunRequest& request);

  /// The device is there: starts training. A run that cannot start is done at once.
  void start();
  /// Looks after its process. True once the record is complete but for the wall clock.
  bool advance();
  bool has_started() const { return load_start_.has_value(); }
  void ask_to_stop();
  void stop();
  /// Gives the training up: the run ends as "aborted" at the next advance(). Too late once it is
  /// being evaluated.
  void abort(const std::string& reason) { aborted_ = reason; }
  const std::string& id() const { return request_.id; }

  const RunConfig& config() const { return request_.config; }
  RunProgress progress() const;
  /// Writes record.json and returns it.
  RunRecord finish();

 private:
  void describe_run();
  void prepare_folder();
  void choose_micro_batch();
  bool has_room_on_disk();
  void write_config();
  void trust_files();
  base::FileAccess file_access(bool is_training) const;
  void launch(const std::string& command, const std::vector<std::string>& more = {});
  void launch_training();
  void launch_evaluation();

  std::string overdue();
  std::string training_overdue(double now);
  bool end_training(const base::ExitStatus& status, const std::string& late);
  void read_training(const base::ExitStatus& status, const std::string& late);
  bool retry_with_less_memory();
  bool end_evaluation(const base::ExitStatus& status, const std::string& late);
  bool verify(const std::string& moment);
  void end_as(const char* outcome, const std::string& message);
  void quarantine(const std::string& reason);

  Workshop& workshop_;
  RunRequest request_;
  std::filesystem::path folder_;
  RunRecord record_;
  /// As it runs: the request, with the micro-batch that fits.
  RunConfig effective_;
  bool continues_ = false;
  bool evaluating_ = false;
  bool done_ = false;
  /// Why it is given up; empty: it is not.
  std::string aborted_;
  int64_t evaluation_rows_ = 0;
  double created_ = 0;
  double phase_started_ = 0;
  double next_look_ = 0;
  int64_t oom_kills_at_start_ = 0;
  std::optional<MachineLoad> load_start_;
  std::optional<TrustedFiles> trusted_;
  std::optional<StallWatch> stall_;
  std::unique_ptr<base::ChildProcess> child_;
};

}  // namespace windtunnel::study

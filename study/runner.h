#pragma once
// Starts runs as child processes, several at once, and turns whatever happens into a RunRecord.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "study/job_limits.h"
#include "study/record_file.h"
#include "study/run_config.h"
#include "study/run_record.h"

namespace windtunnel::study {

struct RunRequest {
  /// Name of the run; its folder is <study>/runs/<id>.
  std::string id;
  std::string purpose = "run";
  /// Resolved, with the seed set.
  RunConfig config;
  /// Continue from a checkpoint in the folder if there is one; otherwise the folder is emptied
  /// first.
  bool resume = false;
};

/// A glimpse of a run in flight.
struct RunProgress {
  std::string id;
  CurvePoint latest;
  /// "waiting for the device", "starting", "training", "evaluating".
  std::string phase;
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// How many runs may be in flight at once.
  virtual int slots() const = 0;
  /// Of the trainer (RunRecord::code_version); "" where none is started.
  virtual std::string code_version() const { return ""; }
  virtual int running() const = 0;
  /// Requires running() < slots().
  virtual void start(const RunRequest& request) = 0;
  /// Waits up to a fifth of a second for a run to end. Its record.json is on disk when it is
  /// returned.
  virtual std::optional<RunRecord> poll() = 0;
  /// Glimpses of all runs in flight.
  virtual std::vector<RunProgress> progress() const = 0;
  /// Ends the training of a run in flight: its outcome is "aborted", `reason` its message. Nothing
  /// happens if it is not in flight or is being evaluated already.
  virtual void abort(const std::string& id, const std::string& reason) = 0;
  /// Stops everything in flight; their folders stay as they are.
  virtual void stop_all() = 0;
};

/// The real one: `windtunnel-train` processes under `study`/runs (job.h), with deadlines from the
/// budget; a completed training is scored by a second process from the saved checkpoint, and the
/// files the score depends on are held to their content meanwhile (trusted_files.h). The device is
/// leased while runs are in flight (device_lease.h): a run waits for another study's. What an
/// earlier control program of the study left running is ended first.
std::unique_ptr<Runner> make_process_runner(const std::filesystem::path& study, int slots,
                                            const std::filesystem::path& trainer,
                                            const JobLimits& limits = {});

/// Path of windtunnel-train: beside this program. Errors: Error if it is not there.
std::filesystem::path trainer_program();

/// What a run folder shows of a run in flight, from outside.
RunProgress glimpse(const std::filesystem::path& run_folder);

}  // namespace windtunnel::study

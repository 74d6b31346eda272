#pragma once
// Starts runs as child processes, several at once, and turns whatever happens into a RunRecord.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

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
  /// "starting", "training", "evaluating".
  std::string phase;
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// How many runs may be in flight at once.
  virtual int slots() const = 0;
  virtual int running() const = 0;
  /// Requires running() < slots().
  virtual void start(const RunRequest& request) = 0;
  /// Waits up to a fifth of a second for a run to end. Its record.json is on disk when it is
  /// returned.
  virtual std::optional<RunRecord> poll() = 0;
  /// Glimpses of all runs in flight.
  virtual std::vector<RunProgress> progress() const = 0;
  /// Stops everything in flight; their folders stay as they are.
  virtual void stop_all() = 0;
};

/// The real one: `windtunnel-train` processes under `study`/runs. Deadlines come from the budget; a
/// completed training is scored by a second process from the saved checkpoint.
std::unique_ptr<Runner> make_process_runner(const std::filesystem::path& study, int slots,
                                            const std::filesystem::path& trainer);

/// Path of windtunnel-train: beside this program. Errors: Error if it is not there.
std::filesystem::path trainer_program();

/// What a run folder shows of a run in flight, from outside.
RunProgress glimpse(const std::filesystem::path& run_folder);

/// The record of a finished run folder, or nullopt if the run did not get to its record.
std::optional<RunRecord> read_record(const std::filesystem::path& run_folder);

}  // namespace windtunnel::study

#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/fingerprint.h"
#include "base/log.h"
#include "base/processes.h"
#include "study/job.h"

namespace windtunnel::study {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;

/// Ends what a control program of this study that was killed has left running.
void end_leftovers(const fs::path& study) {
  const auto left = base::processes_with(kStudyVariable, study_marker(study));
  if (left.empty()) return;
  const int ended = base::end_processes(left);
  base::log_info("ended " + std::to_string(ended) + " processes that an earlier start of study " +
                 study.string() + " left");
}

class ProcessRunner final : public Runner {
 public:
  ProcessRunner(const fs::path& study, int slots, const fs::path& trainer, JobLimits limits)
      : workshop_{.study = study,
                  .trainer = trainer,
                  .code_version = {},
                  .limits = std::move(limits),
                  .hashes = {},
                  .seen = {}},
        slots_(slots),
        lease_(workshop_.limits.leases, study.string()) {
    workshop_.code_version = base::short_fingerprint(workshop_.hashes.of(trainer));
    end_leftovers(study);
    make_seal_key(study);
    remember_scores();
  }

  int slots() const override { return slots_; }
  std::string code_version() const override { return workshop_.code_version; }
  int running() const override { return static_cast<int>(jobs_.size()); }

  void start(const RunRequest& request) override {
    base::check(running() < slots_, "no free slot");
    jobs_.push_back(std::make_unique<Job>(workshop_, request));
    start_if_device_is_free(*jobs_.back());
  }

  std::optional<RunRecord> poll() override {
    const double until = base::monotonic_seconds() + 0.2;
    do {
      lease_.renew();
      for (size_t i = 0; i < jobs_.size(); ++i) {
        Job& job = *jobs_[i];
        if (!job.has_started()) start_if_device_is_free(job);
        if (!job.has_started() || !job.advance()) continue;
        RunRecord record = job.finish();
        jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
        if (jobs_.empty()) lease_.give_back();
        return record;
      }
      std::this_thread::sleep_for(milliseconds(20));
    } while (base::monotonic_seconds() < until);
    return std::nullopt;
  }

  std::vector<RunProgress> progress() const override {
    std::vector<RunProgress> result;
    for (const auto& job : jobs_) result.push_back(job->progress());
    return result;
  }

  void abort(const std::string& id, const std::string& reason) override {
    for (const auto& job : jobs_) {
      if (job->id() == id && job->has_started()) job->abort(reason);
    }
  }

  void stop_all() override {
    for (auto& job : jobs_) job->ask_to_stop();
    for (auto& job : jobs_) job->stop();
    jobs_.clear();
    lease_.give_back();
  }

 private:
  void start_if_device_is_free(Job& job) {
    const TrainConfig& train = job.config().train;
    const auto owner = lease_.take(train.device, slots_ * train.threads);
    if (!owner) {
      job.start();
    } else if (owner->text() != told_) {
      told_ = owner->text();
      base::log_info("waiting for the device " + train.device + ": " + told_ + " has it");
    }
  }

  /// Scores of earlier starts, for quarantine.h.
  void remember_scores() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(workshop_.study / "runs", error)) {
      try {
        const std::string id = entry.path().filename().string();
        if (const auto record = read_sealed_record(workshop_.study, id)) {
          workshop_.seen.add(*record);
        }
      } catch (const std::exception&) {
        // A record that cannot be read is not one to compare with; who needs it will say so.
      }
    }
  }

  Workshop workshop_;
  int slots_;
  DeviceLease lease_;
  /// Owner of the device that was told last.
  std::string told_;
  std::vector<std::unique_ptr<Job>> jobs_;
};

}  // namespace

std::unique_ptr<Runner> make_process_runner(const fs::path& study, int slots,
                                            const fs::path& trainer, const JobLimits& limits) {
  return std::make_unique<ProcessRunner>(study, slots, trainer, limits);
}

fs::path trainer_program() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "windtunnel-train";
  if (!fs::exists(program)) {
    throw base::Error("no trainer at " + program.string() + ": build the target windtunnel-train");
  }
  return program;
}

}  // namespace windtunnel::study

#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "base/child_process.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "base/secrets.h"
#include "base/text.h"
#include "corpus/packed_corpus.h"
#include "model/census.h"
#include "study/objective_kind.h"
#include "study/runner.h"

namespace windtunnel::study {
namespace fs = std::filesystem;
namespace {

using base::Json;
using std::chrono::milliseconds;

/// A process that writes nothing for so long is taken for hung.
constexpr double kSilenceSeconds = 300;
/// Start-up, warm-up and checkpoints of a run whose budget is in seconds, on a slow machine.
constexpr double kOverheadSeconds = 120;
constexpr milliseconds kGrace = std::chrono::seconds(10);
/// How long a trainer that was killed may still wait for the disk.
constexpr double kLastBreathSeconds = 60;

/// The last complete line of a file that somebody else is appending to.
std::string last_line(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return {};
  const auto size = static_cast<int64_t>(stream.tellg());
  const int64_t start = std::max<int64_t>(0, size - 4096);
  std::string tail(static_cast<size_t>(size - start), '\0');
  stream.seekg(start);
  stream.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  const size_t end = tail.rfind('\n');
  if (end == std::string::npos) return {};
  const size_t begin = tail.rfind('\n', end == 0 ? 0 : end - 1);
  return tail.substr(begin == std::string::npos || begin == end ? 0 : begin + 1,
                     end - (begin == std::string::npos || begin == end ? 0 : begin + 1));
}

/// Waits for the trainer of a killed control program, which dies with it but not before the disk
/// lets go of it. Errors: Error naming the process if it stays.
void wait_until_free(const fs::path& folder) {
  const double end = base::monotonic_seconds() + kLastBreathSeconds;
  while (fs::exists(folder)) {
    try {
      const base::FolderLock lock(folder);
      return;
    } catch (const base::Error&) {
      if (base::monotonic_seconds() > end) throw;
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
}

/// When the run last showed a sign of life.
fs::file_time_type last_sign_of_life(const fs::path& folder) {
  fs::file_time_type latest = fs::file_time_type::min();
  std::error_code error;
  for (const char* name :
       {"config.json", "curve.jsonl", "stdout.log", "train.json", "checkpoint"}) {
    const auto time = fs::last_write_time(folder / name, error);
    if (!error) latest = std::max(latest, time);
  }
  return latest;
}

struct Flight {
  RunRequest request;
  fs::path folder;
  RunRecord record;
  double started = 0;
  double phase_started = 0;
  bool evaluating = false;
  std::unique_ptr<base::ChildProcess> child;
};

class ProcessRunner final : public Runner {
 public:
  ProcessRunner(fs::path study, int slots, fs::path trainer)
      : study_(std::move(study)),
        slots_(slots),
        trainer_(std::move(trainer)),
        code_version_(base::short_fingerprint(base::sha256_of_file(trainer_))) {}

  int slots() const override { return slots_; }
  int running() const override { return static_cast<int>(flights_.size()); }

  void start(const RunRequest& request) override {
    base::check(running() < slots_, "no free slot");
    auto flight = std::make_unique<Flight>();
    flight->request = request;
    flight->folder = study_ / "runs" / request.id;
    wait_until_free(flight->folder);
    const bool continues = request.resume && fs::exists(flight->folder / "checkpoint");
    if (!continues) fs::remove_all(flight->folder);
    fs::create_directories(flight->folder);
    for (const char* stale : {"train.json", "evaluation.json", "record.json"}) {
      fs::remove(flight->folder / stale);
    }
    base::remove_leftovers(flight->folder);
    base::write_json(flight->folder / "config.json", base::redact(base::to_json(request.config)));
    flight->record = new_record(request);
    flight->started = base::monotonic_seconds();
    launch(*flight, "train");
    flights_.push_back(std::move(flight));
  }

  std::optional<RunRecord> poll() override {
    const double until = base::monotonic_seconds() + 0.2;
    do {
      for (size_t i = 0; i < flights_.size(); ++i) {
        if (!advance(*flights_[i])) continue;
        Flight& flight = *flights_[i];
        flight.record.wall_seconds = base::monotonic_seconds() - flight.started;
        base::write_json(flight.folder / "record.json", base::redact(base::to_json(flight.record)));
        RunRecord record = std::move(flight.record);
        flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(i));
        return record;
      }
      std::this_thread::sleep_for(milliseconds(20));
    } while (base::monotonic_seconds() < until);
    return std::nullopt;
  }

  std::vector<RunProgress> progress() const override {
    std::vector<RunProgress> result;
    for (const auto& flight : flights_) {
      result.push_back(glimpse(flight->folder));
      if (flight->evaluating) result.back().phase = "evaluating";
    }
    return result;
  }

  void stop_all() override {
    for (auto& flight : flights_) flight->child->ask_to_stop();
    for (auto& flight : flights_) flight->child->stop(kGrace);
    flights_.clear();
  }

 private:
  RunRecord new_record(const RunRequest& request) const {
    const RunConfig& config = request.config;
    const model::Census census = census_of(config);
    RunRecord record;
    record.id = request.id;
    record.purpose = request.purpose;
    record.seed = config.train.seed;
    record.config_fingerprint = config_fingerprint(config);
    record.data_fingerprint = corpus::read_manifest(config.data.corpus).fingerprint();
    record.comparability_key = comparability_key(config, record.data_fingerprint);
    record.code_version = code_version_;
    record.parameters_total = census.parameters_total;
    record.parameters_active = census.parameters_active;
    record.flops_per_token_exact = census.flops_per_token_exact;
    const ObjectiveCost objectives = objectives_cost(config);
    record.parameters_objectives = objectives.parameters_total();
    record.flops_per_token_objectives = objectives.flops_per_token;
    record.started_at = base::utc_now();
    return record;
  }

  void launch(Flight& flight, const std::string& command) const {
    const std::string threads = std::to_string(flight.request.config.train.threads);
    flight.child = std::make_unique<base::ChildProcess>(base::ChildOptions{
        .command = {trainer_.string(), command, "--run", flight.folder.string()},
        .output_file = flight.folder / "stdout.log",
        .environment = {{"OMP_NUM_THREADS", threads}, {"MKL_NUM_THREADS", threads}}});
    flight.phase_started = base::monotonic_seconds();
  }

  /// True when the run has reached its end and its record is complete but for the wall clock.
  bool advance(Flight& flight) {
    std::optional<base::ExitStatus> status = flight.child->poll();
    std::string late;
    if (!status) {
      late = overdue(flight);
      if (late.empty()) return false;
      status = flight.child->stop(kGrace);
    }
    if (!flight.evaluating) {
      read_training(flight, *status, late);
      if (flight.record.train.outcome != outcome::kCompleted) return true;
      flight.evaluating = true;
      launch(flight, "evaluate");
      return false;
    }
    read_evaluation(flight, *status, late);
    return true;
  }

  /// Why the process must be stopped now, or "".
  static std::string overdue(const Flight& flight) {
    const double elapsed = base::monotonic_seconds() - flight.phase_started;
    const BudgetConfig& budget = flight.request.config.train.budget;
    if (!flight.evaluating && budget.kind == "seconds") {
      const double deadline = 2 * budget.amount + kOverheadSeconds;
      if (elapsed > deadline)
        return "not done " + base::format_duration(deadline) + " after its start";
    }
    if (elapsed < kSilenceSeconds) return {};
    const auto silence = fs::file_time_type::clock::now() - last_sign_of_life(flight.folder);
    if (std::chrono::duration<double>(silence).count() < kSilenceSeconds) return {};
    return "no sign of life for " + base::format_duration(kSilenceSeconds);
  }

  static void read_training(Flight& flight, const base::ExitStatus& status,
                            const std::string& late) {
    TrainResult& result = flight.record.train;
    if (fs::exists(flight.folder / "train.json")) {
      result = base::from_trusted_json<TrainResult>(base::read_json(flight.folder / "train.json"));
      if (late.empty()) return;
    }
    result.outcome = late.empty() ? outcome::kCrashed : outcome::kTimedOut;
    result.message = late.empty() ? "the trainer ended with " + status.text() : "stopped: " + late;
    if (status.signal == 9 && late.empty()) {
      result.message += "; the system kills the largest process when memory runs out";
    }
    const std::string last = last_line(flight.folder / "stdout.log");
    if (!last.empty()) result.message += "; its last line: " + base::shorten(last, 300);
  }

  static void read_evaluation(Flight& flight, const base::ExitStatus& status,
                              const std::string& late) {
    RunRecord& record = flight.record;
    const fs::path file = flight.folder / "evaluation.json";
    std::string problem;
    if (!late.empty()) {
      problem = late;
    } else if (!status.ok() || !fs::exists(file)) {
      problem = "it ended with " + status.text() +
                "; its last line: " + base::shorten(last_line(flight.folder / "stdout.log"), 300);
    } else {
      record.evaluation = base::from_trusted_json<EvaluationResult>(base::read_json(file));
      record.train.seconds.evaluation = record.evaluation->seconds;
      const auto manifest = corpus::read_manifest(flight.request.config.data.corpus);
      if (record.evaluation->weights_sha256 != record.train.weights_sha256) {
        problem = "it read other weights than the trainer saved";
      } else if (record.evaluation->validation_text_sha256 != manifest.validation_text_sha256) {
        problem = "it scored another text than the corpus's validation split";
      }
    }
    if (problem.empty()) return;
    record.evaluation.reset();
    record.train.outcome = late.empty() ? outcome::kCrashed : outcome::kTimedOut;
    record.train.message = "evaluation failed: " + problem;
  }

  fs::path study_;
  int slots_;
  fs::path trainer_;
  std::string code_version_;
  std::vector<std::unique_ptr<Flight>> flights_;
};

}  // namespace

std::unique_ptr<Runner> make_process_runner(const fs::path& study, int slots,
                                            const fs::path& trainer) {
  return std::make_unique<ProcessRunner>(study, slots, trainer);
}

fs::path trainer_program() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "windtunnel-train";
  if (!fs::exists(program)) {
    throw base::Error("no trainer at " + program.string() + ": build the target windtunnel-train");
  }
  return program;
}

RunProgress glimpse(const fs::path& run_folder) {
  RunProgress result{.id = run_folder.filename().string(), .latest = {}, .phase = "starting"};
  const Json line = Json::parse(last_line(run_folder / "curve.jsonl"), nullptr, false);
  if (line.is_object()) {
    result.latest = base::from_trusted_json<CurvePoint>(line);
    result.phase = "training";
  }
  return result;
}

std::optional<RunRecord> read_record(const fs::path& run_folder) {
  const fs::path file = run_folder / "record.json";
  if (!fs::exists(file)) return std::nullopt;
  return base::from_trusted_json<RunRecord>(base::read_json(file));
}

}  // namespace windtunnel::study

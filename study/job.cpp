#include "study/job.h"

#include <signal.h>

#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/fingerprint.h"
#include "base/secrets.h"
#include "base/text.h"
#include "corpus/packed_corpus.h"
#include "model/census.h"
#include "study/objective_kind.h"

namespace windtunnel::study {
namespace fs = std::filesystem;
namespace {

using base::Json;
using std::chrono::milliseconds;

/// How long a trainer that was killed may still wait for the disk.
constexpr double kLastBreathSeconds = 60;
/// Between two looks at the curve of a run.
constexpr double kSecondsBetweenLooks = 0.2;
/// Bytes that a run's checkpoint needs per weight: the weight and two moments in float32.
constexpr uint64_t kCheckpointBytesPerWeight = 12;

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

/// Processes that the kernel has killed for memory since boot; 0 if it does not tell.
int64_t oom_kills() {
  std::ifstream stream("/proc/vmstat");
  std::string name;
  int64_t value = 0;
  while (stream >> name >> value) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

int64_t rows_of(const RunConfig& config) {
  return config.train.tokens_per_step / config.model.context_tokens;
}

/// Rows in memory at once, 0 meaning all.
int64_t micro_batch_rows(const RunConfig& config) {
  const int64_t rows = config.train.micro_batch_rows;
  return rows > 0 ? std::min(rows, rows_of(config)) : rows_of(config);
}

std::string bytes_text(uint64_t bytes) {
  return base::format_count(static_cast<double>(bytes)) + "B";
}

}  // namespace

std::string study_marker(const fs::path& study) {
  return fs::weakly_canonical(fs::absolute(study)).string();
}

RunProgress glimpse(const fs::path& run_folder) {
  RunProgress result{.id = run_folder.filename().string(), .latest = {}, .phase = "starting"};
  const Json line = Json::parse(last_line(run_folder / "curve.jsonl"), nullptr, false);
  if (line.is_object()) {
    try {
      result.latest = base::from_trusted_json<CurvePoint>(line);
      result.phase = "training";
    } catch (const Json::exception&) {
      // Not written by a trainer of ours: as good as no point.
    }
  }
  return result;
}

// --- before the first process --------------------------------------------------------------------

Job::Job(Workshop& workshop, const RunRequest& request)
    : workshop_(workshop),
      request_(request),
      folder_(workshop.study / "runs" / request.id),
      effective_(request.config),
      evaluation_rows_(request.config.evaluation.rows),
      created_(base::monotonic_seconds()) {
  describe_run();
  prepare_folder();
  choose_micro_batch();
}

void Job::describe_run() {
  const RunConfig& config = request_.config;
  const model::Census census = census_of(config);
  record_.id = request_.id;
  record_.purpose = request_.purpose;
  record_.seed = config.train.seed;
  record_.config_fingerprint = config_fingerprint(config);
  record_.data_fingerprint = corpus::read_manifest(config.data.corpus).fingerprint();
  record_.code_version = workshop_.code_version;
  record_.comparability_key =
      comparability_key(config, record_.data_fingerprint, record_.code_version);
  record_.parameters_total = census.parameters_total;
  record_.parameters_active = census.parameters_active;
  record_.flops_per_token_exact = census.flops_per_token_exact;
  const ObjectiveCost objectives = objectives_cost(config);
  record_.parameters_objectives = objectives.parameters_total();
  record_.flops_per_token_objectives = objectives.flops_per_token;
  record_.started_at = base::utc_now();
  record_.job.micro_batch_rows_requested = micro_batch_rows(config);
}

void Job::prepare_folder() {
  wait_until_free(folder_);
  continues_ = request_.resume && fs::exists(folder_ / "checkpoint");
  if (!continues_) fs::remove_all(folder_);
  fs::create_directories(folder_);
  for (const char* stale : {"train.json", "evaluation.json", "record.json", "record.seal"}) {
    fs::remove(folder_ / stale);
  }
  base::remove_leftovers(folder_);
}

/// A run that goes on keeps the micro-batch that fitted before it was interrupted.
void Job::choose_micro_batch() {
  if (!continues_ || !fs::exists(folder_ / "config.json")) return;
  const Json before = base::read_json(folder_ / "config.json");
  const Json* rows = base::find_path(before, "train.micro_batch_rows");
  if (!rows || !rows->is_number_integer()) return;
  RunConfig same = request_.config;
  same.train.micro_batch_rows = rows->get<int64_t>();
  const bool is_smaller = same.train.micro_batch_rows > 0 &&
                          same.train.micro_batch_rows < micro_batch_rows(request_.config);
  if (is_smaller && base::to_json(same) == before) effective_ = same;
}

bool Job::has_room_on_disk() {
  // The old checkpoint stays until the next is complete.
  const auto weights =
      static_cast<uint64_t>(record_.parameters_total + record_.parameters_objectives);
  const uint64_t needed =
      workshop_.limits.disk_reserve_bytes + 2 * kCheckpointBytesPerWeight * weights;
  const uint64_t free = workshop_.limits.free_bytes(folder_);
  if (free >= needed) return true;
  end_as(outcome::kDiskFull, "not started: " + bytes_text(free) + " free at " + folder_.string() +
                                 ", but a run needs " + bytes_text(needed) +
                                 " for checkpoints and reserve; free some space");
  return false;
}

void Job::write_config() {
  base::write_json(folder_ / "config.json", base::redact(base::to_json(effective_)));
}

void Job::trust_files() {
  const double start = base::monotonic_seconds();
  trusted_.emplace(workshop_.hashes);
  trusted_->add("program", workshop_.trainer);
  trusted_->add("configuration", folder_ / "config.json");
  trusted_->add_corpus(request_.config.data.corpus);
  record_.job.hashing_seconds =
      record_.job.hashing_seconds.value_or(0) + base::monotonic_seconds() - start;
}

void Job::start() {
  load_start_ = machine_load();
  record_.job.load_average_start = load_start_->load_average;
  record_.job.waited_for_device_seconds = base::monotonic_seconds() - created_;
  record_.job.file_rules = workshop_.limits.restrict_files ? "landlock" : "none";
  oom_kills_at_start_ = oom_kills();
  if (!has_room_on_disk()) return;
  try {
    launch_training();
  } catch (const base::DiskFull& error) {
    end_as(outcome::kDiskFull, std::string("not started: ") + error.what());
  } catch (const base::Error& error) {
    end_as(outcome::kRefused, std::string("not started: ") + error.what());
  }
}

// --- processes -----------------------------------------------------------------------------------

/// Training sees no held-out text, and neither process can change anything but the run's folder.
base::FileAccess Job::file_access(bool is_training) const {
  const fs::path corpus = request_.config.data.corpus;
  base::FileAccess access{
      .writable = {folder_},
      .hidden = {corpus / corpus::kLockedFolder, workshop_.study / kSealKeyFile}};
  if (is_training) {
    access.hidden.push_back(corpus / "validation.text");
    access.hidden.push_back(corpus / "validation.documents.jsonl");
    for (const auto& shard : corpus::read_manifest(corpus).validation.shards) {
      access.hidden.push_back(corpus / shard.file);
    }
  }
  // Drivers of GPUs name their threads by way of /proc.
  if (request_.config.train.device != "cpu") access.writable.emplace_back("/proc");
  return access;
}

void Job::launch(const std::string& command, const std::vector<std::string>& more) {
  const std::string threads = std::to_string(request_.config.train.threads);
  std::vector<std::string> arguments{workshop_.trainer.string(), command, "--run",
                                     folder_.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  base::ChildOptions options{.command = std::move(arguments),
                             .output_file = folder_ / "stdout.log",
                             .max_output_bytes = workshop_.limits.log_bytes,
                             .environment = {{"OMP_NUM_THREADS", threads},
                                             {"MKL_NUM_THREADS", threads},
                                             {kStudyVariable, study_marker(workshop_.study)}}};
  if (workshop_.limits.restrict_files) options.file_access = file_access(!evaluating_);
  child_ = std::make_unique<base::ChildProcess>(options);
  phase_started_ = base::monotonic_seconds();
  next_look_ = phase_started_;
}

void Job::launch_training() {
  ++record_.job.training_attempts;
  record_.job.micro_batch_rows_effective = micro_batch_rows(effective_);
  write_config();
  trust_files();
  stall_.emplace(workshop_.limits);
  launch("train");
}

void Job::launch_evaluation() {
  ++record_.job.evaluation_attempts;
  record_.job.evaluation_rows_effective = evaluation_rows_;
  fs::remove(folder_ / "evaluation.json");
  evaluating_ = true;
  launch("evaluate", {"--rows", std::to_string(evaluation_rows_)});
}

void Job::ask_to_stop() {
  if (child_) child_->ask_to_stop();
}

void Job::stop() {
  if (!child_) return;
  child_->stop(milliseconds(static_cast<int64_t>(1000 * workshop_.limits.grace_seconds)));
}

RunProgress Job::progress() const {
  RunProgress result = glimpse(folder_);
  if (!has_started()) result.phase = "waiting for the device";
  if (evaluating_) result.phase = "evaluating";
  return result;
}

// --- what becomes of them ------------------------------------------------------------------------

bool Job::advance() {
  if (done_) return true;
  std::optional<base::ExitStatus> status = child_->poll();
  std::string late;
  if (!status && !evaluating_ && !aborted_.empty()) {
    stop();
    record_.job.orphans_ended += child_->orphans_ended();
    end_as(outcome::kAborted, aborted_);
    return true;
  }
  if (!status) {
    late = overdue();
    if (late.empty()) return false;
    stop();
    status = child_->poll();
  }
  record_.job.orphans_ended += child_->orphans_ended();
  const bool ended = evaluating_ ? end_evaluation(*status, late) : end_training(*status, late);
  return ended || done_;
}

/// Why the process must be stopped now, or "".
std::string Job::overdue() {
  const double now = base::monotonic_seconds();
  if (now < next_look_) return {};
  next_look_ = now + kSecondsBetweenLooks;
  const JobLimits& limits = workshop_.limits;
  const double elapsed = now - phase_started_;
  if (!evaluating_) {
    if (std::string problem = training_overdue(now); !problem.empty()) return problem;
  } else if (const auto& speed = record_.train.tokens_per_second; speed && *speed > 0) {
    const auto tokens =
        static_cast<double>(corpus::read_manifest(request_.config.data.corpus).validation.tokens);
    const double deadline = limits.overhead_seconds + limits.evaluation_factor * tokens / *speed;
    if (elapsed > deadline) {
      return "not done " + base::format_duration(deadline) + " after its start";
    }
  }
  if (elapsed < limits.silence_seconds) return {};
  const auto silence = fs::file_time_type::clock::now() - last_sign_of_life(folder_);
  if (std::chrono::duration<double>(silence).count() < limits.silence_seconds) return {};
  return "no sign of life for " + base::format_duration(limits.silence_seconds);
}

std::string Job::training_overdue(double now) {
  const BudgetConfig& budget = request_.config.train.budget;
  if (budget.kind == "seconds") {
    const double deadline = 2 * budget.amount + workshop_.limits.overhead_seconds;
    if (now - phase_started_ > deadline) {
      return "not done " + base::format_duration(deadline) + " after its start";
    }
  }
  stall_->saw(glimpse(folder_).latest.step, now);
  return stall_->problem(now);
}

bool Job::end_training(const base::ExitStatus& status, const std::string& late) {
  read_training(status, late);
  if (record_.train.outcome == outcome::kOutOfMemory && retry_with_less_memory()) return false;
  if (record_.train.outcome != outcome::kCompleted) return true;
  if (!verify("while it trained")) return true;
  try {
    trusted_->add("weights", folder_ / "checkpoint" / "weights.safetensors");
  } catch (const base::Error& error) {
    end_as(outcome::kCrashed, std::string("it left no weights: ") + error.what());
    return true;
  }
  if (trusted_->hashes().at("weights") != record_.train.weights_sha256) {
    quarantine("the weights are not those that the trainer says it saved");
    return true;
  }
  launch_evaluation();
  return false;
}

void Job::read_training(const base::ExitStatus& status, const std::string& late) {
  TrainResult& result = record_.train;
  result = {};
  std::string unreadable;
  if (fs::exists(folder_ / "train.json")) {
    try {
      result = base::from_trusted_json<TrainResult>(base::read_json(folder_ / "train.json"));
      if (late.empty()) return;
    } catch (const std::exception& error) {
      unreadable = std::string("; its train.json cannot be read: ") + error.what();
    }
  }
  result.outcome = late.empty() ? outcome::kCrashed : outcome::kTimedOut;
  result.message = late.empty() ? "the trainer ended with " + status.text() : "stopped: " + late;
  if (status.code == base::kExitDiskFull && late.empty()) result.outcome = outcome::kDiskFull;
  if (status.signal == SIGKILL && late.empty()) {
    if (oom_kills() > oom_kills_at_start_) result.outcome = outcome::kOutOfMemory;
    result.message += "; the system kills the largest process when memory runs out";
  }
  const std::string last = last_line(folder_ / "stdout.log");
  if (!last.empty()) result.message += "; its last line: " + base::shorten(last, 300);
  result.message += unreadable;
}

/// From the start, with half the rows at once; the total batch and so the gradient stay.
bool Job::retry_with_less_memory() {
  const int64_t rows = micro_batch_rows(effective_);
  if (record_.job.training_attempts > 1 || rows < 2) return false;
  effective_.train.micro_batch_rows = (rows + 1) / 2;
  for (const char* name : {"train.json", "checkpoint", "curve.jsonl"}) {
    fs::remove_all(folder_ / name);
  }
  base::remove_leftovers(folder_);
  launch_training();
  return true;
}

bool Job::end_evaluation(const base::ExitStatus& status, const std::string& late) {
  const fs::path file = folder_ / "evaluation.json";
  std::string problem = late;
  if (problem.empty() && (!status.ok() || !fs::exists(file))) {
    problem = "it ended with " + status.text() +
              "; its last line: " + base::shorten(last_line(folder_ / "stdout.log"), 300);
    if (record_.job.evaluation_attempts == 1) {
      evaluation_rows_ = (evaluation_rows_ + 1) / 2;
      launch_evaluation();
      return false;
    }
  }
  if (!problem.empty()) {
    end_as(late.empty() ? outcome::kCrashed : outcome::kTimedOut, "evaluation failed: " + problem);
    return true;
  }
  if (!verify("while it was scored")) return true;
  record_.evaluation = base::from_trusted_json<EvaluationResult>(base::read_json(file));
  record_.train.seconds.evaluation = record_.evaluation->seconds;
  const fs::path corpus = request_.config.data.corpus;
  const std::string reason =
      reason_to_quarantine(record_, corpus::read_manifest(corpus),
                           lowest_plausible_bits_per_byte(corpus), workshop_.seen);
  if (!reason.empty()) {
    quarantine(reason);
    return true;
  }
  workshop_.seen.add(record_);
  done_ = true;
  return true;
}

/// False, and quarantined, if a file that the score depends on is not what it was.
bool Job::verify(const std::string& moment) {
  const double start = base::monotonic_seconds();
  const std::string changed = trusted_->changed();
  *record_.job.hashing_seconds += base::monotonic_seconds() - start;
  if (changed.empty()) return true;
  quarantine(changed + " " + moment);
  return false;
}

void Job::end_as(const char* outcome, const std::string& message) {
  record_.evaluation.reset();
  record_.train.outcome = outcome;
  record_.train.message = message;
  done_ = true;
}

void Job::quarantine(const std::string& reason) { end_as(outcome::kQuarantined, reason); }

RunRecord Job::finish() {
  if (trusted_) record_.job.sha256 = trusted_->hashes();
  if (load_start_) {
    const MachineLoad now = machine_load();
    record_.job.load_average_end = now.load_average;
    record_.job.steal_fraction = steal_fraction(*load_start_, now);
    record_.job.other_busy_threads = other_busy_threads(*load_start_, now);
  }
  record_.wall_seconds = base::monotonic_seconds() - created_;
  write_record(workshop_.study, record_);
  return std::move(record_);
}

}  // namespace windtunnel::study

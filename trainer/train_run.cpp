#include "trainer/train_run.h"

#include <cmath>
#include <map>
#include <new>

#include "base/clock.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/text.h"
#include "corpus/packed_corpus.h"
#include "evaluation/layer_health.h"
#include "model/census.h"
#include "study/objective_kind.h"
#include "trainer/budget.h"
#include "trainer/checkpoint.h"
#include "trainer/curve.h"
#include "trainer/machine.h"
#include "trainer/schedule.h"
#include "trainer/training_step.h"
#include "trainer/warm_up.h"

namespace windtunnel::trainer {
namespace fs = std::filesystem;
namespace {

using base::Json;
using study::TrainResult;

/// A loss above this is as good as infinite: it is far worse than giving every token of the largest
/// vocabulary the same probability.
constexpr double kHopelessNatsPerToken = 100;
/// Points of the curve: so many over the whole budget, but none more often than people can see.
constexpr int64_t kCurvePoints = 200;
constexpr int64_t kMaxStepsPerPoint = 20;
constexpr double kMinSecondsPerPoint = 0.1;

study::RunConfig read_config(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  const Json document = base::read_json(file);
  try {
    auto config = study::resolve_run_config(document, file.string());
    const auto manifest = corpus::read_manifest(config.data.corpus);
    if (manifest.train.tokens <= config.model.context_tokens) {
      throw Refused("data.corpus = " + config.data.corpus + ": its training split has " +
                    std::to_string(manifest.train.tokens) +
                    " tokens, too few for one row of model.context_tokens + 1 = " +
                    std::to_string(config.model.context_tokens + 1) + "; build a larger corpus");
    }
    return config;
  } catch (const base::Error& error) {
    throw Refused(error.what());
  }
}

torch::Device prepare_machine(const study::TrainConfig& config) {
  prepare_threads(config.threads);
  return open_device(config.device);
}

class TrainingRun {
 public:
  TrainingRun(const fs::path& folder, TrainResult& result)
      : folder_(folder),
        result_(result),
        config_(read_config(folder)),
        device_(prepare_machine(config_.train)),
        census_(study::census_of(config_)),
        budget_(config_),
        model_(config_.model, base::RandomStream(seed(), "weights")) {
    result_.device_name = device_name(device_);
    model_.to(device_);
    objectives_ = objectives_of(config_, model_);
  }

  /// Trains to the end of the budget, or to whatever comes before.
  void run() {
    open_checkpoint();
    open_data();
    warm_up_once();
    restore();
    Curve curve(folder_ / "curve.jsonl", position_.step);
    start_clock();
    while (!budget_.exhausted(spent())) {
      if (base::interrupt_requested()) return stop(curve);
      take_step();
      if (device_.is_cpu()) settle_losses();
      if (point_is_due()) write_point(curve);
      if (!diverged_.empty()) return give_up(curve);
      if (checkpoint_is_due()) checkpoint();
    }
    finish(curve);
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(config_.train.seed); }
  fs::path checkpoint_folder() const { return folder_ / "checkpoint"; }
  int64_t rows() const { return config_.train.tokens_per_step / config_.model.context_tokens; }

  // --- before the first step -------------------------------------------------------------------

  void open_checkpoint() {
    fingerprint_ = base::fingerprint(base::to_json(config_));
    if (find_checkpoint(checkpoint_folder())) {
      saved_ = read_checkpoint_manifest(checkpoint_folder());
      if (saved_->position.config_fingerprint != fingerprint_) {
        throw base::Error(checkpoint_folder().string() +
                          " was saved by another configuration; restore config.json, or delete the "
                          "checkpoint to start over");
      }
      position_ = saved_->position;
    }
    base::remove_leftovers(folder_);
  }

  void open_data() {
    data_ = std::make_unique<corpus::BatchStream>(
        config_.data.corpus,
        corpus::BatchShape{.rows = rows(), .context_tokens = config_.model.context_tokens}, seed(),
        position_.batch);
    batch_ = data_->next();
  }

  void warm_up_once() {
    const double start = base::monotonic_seconds();
    result_.seconds.startup = process_age_seconds();
    study::TrainConfig train = config_.train;
    if (saved_) train.precision = position_.precision;  // what auto chose at the start of the run
    const WarmUp measured = warm_up(model_, objectives_, batch_, train, device_);
    position_.precision = measured.precision;
    seconds_per_step_ = measured.seconds_per_step;
    position_.warmup_seconds += base::monotonic_seconds() - start;
  }

  void restore() {
    optimizers_ = make_optimizers(trained_parameters(model_, objectives_), config_.train.optimizer);
    position_.config_fingerprint = fingerprint_;
    point_step_ = position_.step;
    point_seconds_ = position_.training_seconds;
    if (!saved_) return;
    load_tensors(checkpoint_folder(), *saved_, kWeightsFile, weights_of(model_));
    load_tensors(checkpoint_folder(), *saved_, kOptimizerFile,
                 training_state(model_, objectives_, optimizers_));
    base::log_info("continuing at step " + std::to_string(position_.step));
  }

  // --- the steps of the loop -------------------------------------------------------------------

  void start_clock() { clock_start_ = base::monotonic_seconds() - position_.training_seconds; }

  double training_seconds() const { return base::monotonic_seconds() - clock_start_; }

  Spent spent() const {
    return {.steps = static_cast<double>(position_.step), .seconds = training_seconds()};
  }

  /// The schedule at the middle of the step to come: neither the first rate nor the last is wasted.
  StepMoment next_moment() const {
    Spent middle = spent();
    middle.steps += 0.5;
    middle.seconds += 0.5 * seconds_per_step_;
    const double progress = budget_.progress(middle);
    return {.learning_rate = config_.train.optimizer.learning_rate *
                             learning_rate_factor(config_.train.schedule, progress, position_.step),
            .progress = progress};
  }

  void take_step() {
    const StepMoment moment = next_moment();
    learning_rate_ = moment.learning_rate;
    const StepResult step =
        training_step(model_, objectives_, optimizers_, batch_, moment,
                      {.device = device_,
                       .precision = position_.precision,
                       .micro_batch_rows = config_.train.micro_batch_rows,
                       .gradient_clip_norm = config_.train.optimizer.gradient_clip_norm,
                       .noise = EmbeddingNoise(config_.train.embedding_noise, seed())});
    unread_.push_back(at::stack({step.loss_nats_per_token, step.gradient_norms.global}));
    gradient_norms_P_ = step.gradient_norms.each_P;
    position_.step += 1;
    position_.batch += 1;
    position_.tokens += config_.train.tokens_per_step;
    batch_ = data_->next();
  }

  /// Reads the losses of the steps since the last time, in order: waits for the device.
  void settle_losses() {
    if (unread_.empty()) return;
    const torch::Tensor values = at::stack(unread_).to(at::kCPU, at::kDouble);
    unread_.clear();
    for (int64_t i = 0; i < values.size(0); ++i) {
      const double loss = values[i][0].item<double>();
      gradient_norm_ = values[i][1].item<double>();
      position_.loss_sum += loss;
      position_.loss_count += 1;
      if (!diverged_.empty()) continue;
      const std::string at = " at step " + std::to_string(position_.step - values.size(0) + i + 1);
      if (!std::isfinite(loss) || !std::isfinite(gradient_norm_)) {
        diverged_ = "loss " + base::format_number(loss) + " and gradient norm " +
                    base::format_number(gradient_norm_) + at;
      } else if (loss > kHopelessNatsPerToken) {
        diverged_ = "loss " + base::format_number(loss) + " nats per token" + at;
      }
    }
  }

  /// At fixed steps where the budget counts steps, so that equal runs leave equal curves; by the
  /// clock otherwise.
  bool point_is_due() const {
    if (!budget_.counts_steps()) {
      const double interval =
          std::max(kMinSecondsPerPoint, config_.train.budget.amount / (2 * kCurvePoints));
      return training_seconds() - point_seconds_ >= interval || budget_.exhausted(spent());
    }
    const int64_t every =
        std::clamp<int64_t>(budget_.planned_steps() / kCurvePoints, 1, kMaxStepsPerPoint);
    return position_.step % every == 0 || budget_.exhausted(spent());
  }

  void write_point(Curve& curve) {
    settle_losses();
    const double now = training_seconds();
    const auto steps = static_cast<double>(position_.step - point_step_);
    if (now > point_seconds_) seconds_per_step_ = (now - point_seconds_) / steps;
    study::CurvePoint point;
    point.step = position_.step;
    point.tokens = position_.tokens;
    point.progress = budget_.progress(spent());
    point.training_seconds = now;
    point.loss_nats_per_token = position_.loss_sum / static_cast<double>(position_.loss_count);
    point.learning_rate = learning_rate_;
    point.gradient_norm = gradient_norm_;
    point.tokens_per_second =
        static_cast<double>(config_.train.tokens_per_step) / seconds_per_step_;
    point.layers = layer_points();
    model_.reset_router_health();
    curve.append(point);
    position_.loss_sum = 0;
    position_.loss_count = 0;
    point_step_ = position_.step;
    point_seconds_ = now;
  }

  /// With the gradient norm of the last step.
  std::vector<study::LayerPoint> layer_points() const {
    std::map<int, study::LayerPoint> points;
    for (study::LayerPoint& point : evaluation::layer_points(model_)) {
      points[point.position] = std::move(point);
    }
    for (const auto& [position, norm] :
         norms_of_layers(trained_parameters(model_, objectives_), gradient_norms_P_)) {
      points[position].position = position;
      points[position].figures["gradient_norm"] = norm;
    }
    std::vector<study::LayerPoint> all;
    for (auto& [position, point] : points) all.push_back(std::move(point));
    return all;
  }

  bool checkpoint_is_due() const {
    return base::monotonic_seconds() - last_checkpoint_ >= config_.train.checkpoint_every_seconds;
  }

  /// The clock of the budget stands still meanwhile.
  void checkpoint() {
    synchronize(device_);
    settle_losses();
    if (!diverged_.empty()) return;  // the last good one stays
    position_.training_seconds = training_seconds();
    const double start = base::monotonic_seconds();
    const CheckpointManifest manifest =
        save_checkpoint(checkpoint_folder(), weights_of(model_),
                        training_state(model_, objectives_, optimizers_), position_);
    result_.weights_sha256 = manifest.files.at(kWeightsFile).sha256;
    last_checkpoint_ = base::monotonic_seconds();
    position_.checkpoint_seconds += last_checkpoint_ - start;
    start_clock();
  }

  // --- the ends --------------------------------------------------------------------------------

  void finish(const Curve& curve) {
    report(curve, study::outcome::kCompleted, "");
    checkpoint();
    result_.seconds.checkpoint = position_.checkpoint_seconds;
  }

  void stop(const Curve& curve) {
    report(curve, study::outcome::kInterrupted,
           "stopped at step " + std::to_string(position_.step) + "; the same command continues");
    checkpoint();
    result_.seconds.checkpoint = position_.checkpoint_seconds;
  }

  void give_up(const Curve& curve) {
    report(curve, study::outcome::kDiverged, diverged_);
    result_.weights_sha256.clear();
  }

  void report(const Curve& curve, const char* outcome, const std::string& message) {
    synchronize(device_);
    position_.training_seconds = training_seconds();
    result_.outcome = outcome;
    result_.message = message;
    result_.steps = position_.step;
    result_.tokens = position_.tokens;
    result_.epochs = data_->epochs(position_.batch);
    const auto tokens = static_cast<double>(position_.tokens);
    result_.flops_objectives = tokens * study::objectives_cost(config_).flops_per_token;
    result_.flops_exact = tokens * census_.flops_per_token_exact + *result_.flops_objectives;
    result_.loss_nats_per_token = curve.final_loss();
    if (position_.tokens > 0) {
      result_.tokens_per_second =
          static_cast<double>(position_.tokens) / position_.training_seconds;
    }
    result_.peak_memory_bytes = peak_memory_bytes(device_);
    result_.precision = position_.precision;
    result_.seconds.warmup = position_.warmup_seconds;
    result_.seconds.training = position_.training_seconds;
    if (position_.checkpoint_seconds > 0) result_.seconds.checkpoint = position_.checkpoint_seconds;
  }

  fs::path folder_;
  TrainResult& result_;
  study::RunConfig config_;
  torch::Device device_;
  model::Census census_;
  Budget budget_;
  model::LanguageModel model_;
  Objectives objectives_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  std::unique_ptr<corpus::BatchStream> data_;
  /// The batch to train on next, fetched already.
  corpus::Batch batch_;

  std::string fingerprint_;
  std::optional<CheckpointManifest> saved_;
  RunPosition position_;
  double clock_start_ = 0;
  double last_checkpoint_ = base::monotonic_seconds();
  double seconds_per_step_ = 0;

  /// Loss and gradient norm of the steps whose values have not been read from the device.
  std::vector<torch::Tensor> unread_;
  double learning_rate_ = 0;
  double gradient_norm_ = 0;
  /// Of the last step, on the device.
  torch::Tensor gradient_norms_P_;
  int64_t point_step_ = 0;
  double point_seconds_ = 0;
  std::string diverged_;
};

/// LibTorch reports a failed allocation on the CPU as a plain c10::Error.
bool is_out_of_memory(const c10::Error& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         error.msg().find("can't allocate memory") != std::string::npos ||
         error.msg().find("not enough memory") != std::string::npos;
}

bool is_completed(const fs::path& folder) {
  if (!fs::exists(folder / "train.json") || !fs::exists(folder / "checkpoint")) return false;
  const auto result = base::from_trusted_json<TrainResult>(base::read_json(folder / "train.json"));
  const auto manifest = read_checkpoint_manifest(folder / "checkpoint");
  return result.outcome == study::outcome::kCompleted &&
         result.weights_sha256 == manifest.files.at(kWeightsFile).sha256;
}

}  // namespace

int train_run(const fs::path& folder) {
  if (!fs::exists(folder / "config.json")) {
    throw base::UsageError("no run at " + folder.string() + ": config.json is missing");
  }
  const base::FolderLock lock(folder);
  if (is_completed(folder)) {
    base::log_info(folder.string() + " is complete already");
    return base::kExitDone;
  }
  TrainResult result;
  const auto write_result = [&] { base::write_json(folder / "train.json", base::to_json(result)); };
  const auto out_of_memory = [&](const std::string& what) {
    result.outcome = study::outcome::kOutOfMemory;
    result.message =
        "out of memory: " + what + "; lower train.micro_batch_rows or the model's size";
  };
  // Whatever was done before: without its checkpoint on disk a run is not completed.
  const auto crashed = [&](const std::string& what) {
    result.outcome = study::outcome::kCrashed;
    result.message = what;
    write_result();
  };
  try {
    TrainingRun run(folder, result);
    run.run();
  } catch (const Refused& refusal) {
    result.outcome = study::outcome::kRefused;
    result.message = refusal.what();
  } catch (const std::bad_alloc&) {
    out_of_memory("an allocation failed");
  } catch (const c10::Error& error) {
    const std::string what = base::shorten(error.what_without_backtrace(), 300);
    if (!is_out_of_memory(error)) {
      crashed(what);
      throw;
    }
    out_of_memory(what);
  } catch (const base::DiskFull& error) {
    // The result itself is small; if not even that fits, the exit code says what happened.
    result.outcome = study::outcome::kDiskFull;
    result.message = error.what();
  } catch (const std::exception& error) {
    crashed(error.what());
    throw;
  }
  write_result();
  base::log_info(result.outcome + (result.message.empty() ? "" : ": ") + result.message);
  return result.outcome == study::outcome::kInterrupted ? base::kExitInterrupted : base::kExitDone;
}

}  // namespace windtunnel::trainer

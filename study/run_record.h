#pragma once
// What a run leaves, in its folder:
//
//   config.json       resolved configuration, before anything starts
//   curve.jsonl       one CurvePoint a line, as it trains
//   stdout.log        what the processes printed
//   checkpoint/       weights.safetensors, optimizer.safetensors, manifest.json
//   train.json        TrainResult, written by the trainer at its end
//   evaluation.json   EvaluationResult, written by the evaluating process
//   record.json       RunRecord, written last by the control program
//   record.seal       proof of that (record_file.h)

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "study/job_report.h"
#include "study/probe_result.h"

namespace windtunnel::study {

/// How a run ended. Stored by name; the names are a stable interface.
///   completed  diverged  out_of_memory  timed_out  crashed  interrupted  refused  disk_full
///   quarantined  aborted
/// "refused": the configuration asks for what this machine or corpus cannot give.
/// "quarantined": trained and scored, but the score cannot be trusted; the message says why, and
/// there is no score.
namespace outcome {
inline constexpr const char* kCompleted = "completed";
inline constexpr const char* kDiverged = "diverged";
inline constexpr const char* kOutOfMemory = "out_of_memory";
inline constexpr const char* kTimedOut = "timed_out";
inline constexpr const char* kCrashed = "crashed";
inline constexpr const char* kInterrupted = "interrupted";
inline constexpr const char* kRefused = "refused";
inline constexpr const char* kDiskFull = "disk_full";
inline constexpr const char* kQuarantined = "quarantined";
/// Given up by a criterion that was written before it ran.
inline constexpr const char* kAborted = "aborted";
}  // namespace outcome

/// How the router of one expert layer spread tokens. Absent: the router has no such thing.
struct LayerHealth {
  int position = 0;
  double load_entropy = 0;
  double load_cv = 0;
  double max_load = 0;
  std::optional<double> z_loss;
  std::optional<double> bias_mean;
  std::optional<double> bias_max;
  std::optional<bool> bias_at_clamp;
  std::optional<double> saturation;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("position", self.position, {.help = "position in the pattern, from 0"});
    visit("load_entropy", self.load_entropy, {.help = "over log E; 1 is even"});
    visit("load_cv", self.load_cv, {.help = "standard deviation over mean of the load"});
    visit("max_load", self.max_load, {.help = "share of the busiest expert"});
    visit("z_loss", self.z_loss, {.help = "mean squared log-sum-exp of the router's logits"});
    visit("bias_mean", self.bias_mean, {.help = "mean size of the selection biases"});
    visit("bias_max", self.bias_max, {.help = "size of the largest selection bias"});
    visit("bias_at_clamp", self.bias_at_clamp, {.help = "the largest bias has reached its clamp"});
    visit("saturation", self.saturation,
          {.help = "share of sigmoid affinities below 0.01 or above 0.99"});
  }
};

/// What one layer tells at a point of the curve.
struct LayerPoint {
  int position = 0;
  /// Over the tokens since the last point.
  std::optional<LayerHealth> router;
  /// Further scalars of the last step, by name.
  std::map<std::string, double> figures;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("position", self.position, {.help = "position in the pattern, from 0"});
    visit("router", self.router, {.help = "health over the tokens since the last point"});
    visit("figures", self.figures, {.help = "further scalars of the last step, by name"});
  }
};

struct CurvePoint {
  int64_t step = 0;
  int64_t tokens = 0;
  /// Of the budget, in [0, 1].
  double progress = 0;
  double training_seconds = 0;
  /// Training loss, cross-entropy without auxiliary terms; mean since the last point.
  std::optional<double> loss_nats_per_token;
  double learning_rate = 0;
  std::optional<double> gradient_norm;
  double tokens_per_second = 0;
  /// Layers that have something to tell.
  std::vector<LayerPoint> layers;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("step", self.step, {.help = "optimizer steps done"});
    visit("tokens", self.tokens, {.help = "tokens trained on"});
    visit("progress", self.progress, {.help = "of the budget, 0 to 1"});
    visit("training_seconds", self.training_seconds, {.help = "measured training time so far"});
    visit("loss_nats_per_token", self.loss_nats_per_token, {.help = "mean since the last point"});
    visit("learning_rate", self.learning_rate, {.help = "AdamW's"});
    visit("gradient_norm", self.gradient_norm, {.help = "before clipping"});
    visit("tokens_per_second", self.tokens_per_second, {.help = "since the last point"});
    visit("layers", self.layers, {.help = "router health and other figures of layers"});
  }
};

/// Where the wall-clock time of a run went. Absent parts did not happen.
struct PhaseSeconds {
  std::optional<double> startup;
  std::optional<double> warmup;
  std::optional<double> training;
  std::optional<double> checkpoint;
  std::optional<double> evaluation;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("startup", self.startup,
          {.help = "process start to first warm-up step", .unit = "seconds"});
    visit("warmup", self.warmup,
          {.help = "steps that are undone and do not count", .unit = "seconds"});
    visit("training", self.training, {.help = "what the budget counts", .unit = "seconds"});
    visit("checkpoint", self.checkpoint, {.help = "writing checkpoints", .unit = "seconds"});
    visit("evaluation", self.evaluation, {.help = "the evaluating process", .unit = "seconds"});
  }
};

struct TrainResult {
  std::string outcome = outcome::kCrashed;
  std::string message;
  std::optional<int64_t> steps;
  std::optional<int64_t> tokens;
  std::optional<double> epochs;
  std::optional<double> flops_exact;
  std::optional<double> flops_objectives;
  std::optional<double> loss_nats_per_token;
  std::optional<double> tokens_per_second;
  std::optional<double> peak_memory_bytes;
  std::string device_name;
  std::string precision;
  /// SHA-256 of checkpoint/weights.safetensors; the evaluation must have read the same.
  std::string weights_sha256;
  PhaseSeconds seconds;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("outcome", self.outcome, {.help = "how the run ended"});
    visit("message", self.message, {.help = "one sentence for people"});
    visit("steps", self.steps, {.help = "optimizer steps"});
    visit("tokens", self.tokens, {.help = "tokens trained on"});
    visit("epochs", self.epochs, {.help = "passes over the training split"});
    visit("flops_exact", self.flops_exact,
          {.help = "training FLOPs by the exact ledger, those of objectives included"});
    visit("flops_objectives", self.flops_objectives, {.help = "of flops_exact"});
    visit("loss_nats_per_token", self.loss_nats_per_token, {.help = "training loss, last tenth"});
    visit("tokens_per_second", self.tokens_per_second, {.help = "over measured training"});
    visit("peak_memory_bytes", self.peak_memory_bytes, {.help = "of the process or device"});
    visit("device_name", self.device_name, {.help = "CPU or GPU model"});
    visit("precision", self.precision, {.help = "used, after auto"});
    visit("weights_sha256", self.weights_sha256, {.help = "of the saved weights"});
    visit("seconds", self.seconds, {.help = "where the time went"});
  }
};

struct EvaluationResult {
  double bits_per_byte = 0;
  /// Of bits_per_byte, the documents taken for a sample of documents like them; null: fewer than
  /// two. Runs scored on the same text share most of it: it is no noise between them.
  std::optional<double> standard_error;
  double total_nats = 0;
  int64_t bytes = 0;
  /// By the fixed-wall study's count of bytes (evaluation/source_bytes.h): to stand beside its
  /// published figures. Not ours, and no decision rests on it.
  std::optional<double> bits_per_byte_source;
  std::optional<int64_t> bytes_source;
  int64_t tokens = 0;
  int64_t documents = 0;
  double seconds = 0;
  std::string weights_sha256;
  std::string validation_text_sha256;
  std::vector<LayerHealth> router_health;
  /// Absent in records of earlier versions.
  std::optional<ProbeResult> probes;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("bits_per_byte", self.bits_per_byte, {.help = "total_nats / ln 2 / bytes"});
    visit("standard_error", self.standard_error,
          {.help = "of bits_per_byte over other documents of this kind; shared by runs scored on "
                   "the same text; null: fewer than two documents"});
    visit("total_nats", self.total_nats, {.help = "negative log-likelihood of the text"});
    visit("bytes", self.bytes, {.help = "raw bytes of the text"});
    visit("bits_per_byte_source", self.bits_per_byte_source,
          {.help = "over bytes_source, to compare with the fixed-wall study's figures only"});
    visit("bytes_source", self.bytes_source,
          {.help = "bytes of each token decoded alone, a broken UTF-8 sequence counted as 3"});
    visit("tokens", self.tokens, {.help = "tokens scored, special tokens not"});
    visit("documents", self.documents, {.help = "documents, each scored on its own"});
    visit("seconds", self.seconds, {.help = "wall clock"});
    visit("weights_sha256", self.weights_sha256, {.help = "of the weights that were read"});
    visit("validation_text_sha256", self.validation_text_sha256,
          {.help = "of the text that was scored"});
    visit("router_health", self.router_health, {.help = "per expert layer, over the text"});
    visit("probes", self.probes, {.help = "whether these are log-probabilities of a causal model"});
  }
};

struct RunRecord {
  std::string id;
  /// "baseline", "candidate", "ladder", "run".
  std::string purpose = "run";
  int64_t seed = 0;
  std::string config_fingerprint;
  std::string data_fingerprint;
  /// Records with different keys must not be compared; see comparability_key().
  std::string comparability_key;
  std::string code_version;
  int64_t parameters_total = 0;
  int64_t parameters_active = 0;
  double flops_per_token_exact = 0;
  int64_t parameters_objectives = 0;
  double flops_per_token_objectives = 0;
  TrainResult train;
  std::optional<EvaluationResult> evaluation;
  JobReport job;
  std::string started_at;
  double wall_seconds = 0;

  bool completed() const { return train.outcome == outcome::kCompleted && evaluation.has_value(); }
  std::optional<double> bits_per_byte() const {
    return completed() ? std::optional<double>(evaluation->bits_per_byte) : std::nullopt;
  }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("id", self.id, {.help = "folder name under runs/"});
    visit("purpose", self.purpose, {.help = "what the run was for"});
    visit("seed", self.seed, {.help = "of all its random streams"});
    visit("config_fingerprint", self.config_fingerprint,
          {.help = "of the configuration without seed"});
    visit("data_fingerprint", self.data_fingerprint, {.help = "of the corpus manifest"});
    visit("comparability_key", self.comparability_key, {.help = "equal keys may be compared"});
    visit("code_version", self.code_version, {.help = "of the trainer that ran"});
    visit("parameters_total", self.parameters_total, {.help = "all weights"});
    visit("parameters_active", self.parameters_active,
          {.help = "N: used by one token, vocabulary tables included"});
    visit("flops_per_token_exact", self.flops_per_token_exact,
          {.help = "of the model, forward and backward"});
    visit("parameters_objectives", self.parameters_objectives,
          {.help = "weights of training objectives, no part of the model"});
    visit("flops_per_token_objectives", self.flops_per_token_objectives,
          {.help = "of training objectives, beside the model's"});
    visit("train", self.train, {.help = "what the trainer reported"});
    visit("evaluation", self.evaluation, {.help = "what the evaluating process reported"});
    visit("job", self.job, {.help = "how the control program carried it out"});
    visit("started_at", self.started_at, {.help = "UTC"});
    visit("wall_seconds", self.wall_seconds, {.help = "from start to record", .unit = "seconds"});
  }
};

/// Data (tokenizer and splits with it), budget, device, precision, threads and code of the trainer:
/// what must be equal for two bits-per-byte figures to be compared. Sizes of a ladder share data
/// and device but not the budget; they go by data_fingerprint.
std::string comparability_key(const struct RunConfig& config, const std::string& data_fingerprint,
                              const std::string& code_version);

}  // namespace windtunnel::study

WINDTUNNEL_COMPILE_FIELDS(extern, windtunnel::study::RunRecord)

#pragma once
// A saved run: a folder that is complete or absent, written under a temporary name and renamed.
//
//   weights.safetensors     parameters and state buffers, by the model's names
//   optimizer.safetensors   states of the optimizers, weights of training objectives
//   manifest.json           written last: position of the run, sizes and hashes of the two files

#include <filesystem>
#include <map>
#include <string>

#include "base/config.h"
#include "trainer/optimizer.h"

namespace windtunnel::trainer {

inline constexpr const char* kWeightsFile = "weights.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";

/// Where a run stands between two steps.
struct RunPosition {
  int64_t step = 0;
  int64_t tokens = 0;
  double training_seconds = 0;
  /// Batches taken from the data stream: the position of the run's only random stream that moves
  /// after start ("weights" is drawn once; the order of documents is a function of seed and batch).
  int64_t batch = 0;
  /// Sum of the training losses, and their number, since the last point of the curve.
  double loss_sum = 0;
  int64_t loss_count = 0;
  double warmup_seconds = 0;
  double checkpoint_seconds = 0;
  /// In use, after "auto".
  std::string precision;
  /// Of the whole configuration, seed included: a run is continued by itself only.
  std::string config_fingerprint;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("step", self.step, {.help = "optimizer steps done"});
    visit("tokens", self.tokens, {.help = "tokens trained on"});
    visit("training_seconds", self.training_seconds, {.help = "what a budget of seconds counts"});
    visit("batch", self.batch, {.help = "next batch of the data stream"});
    visit("loss_sum", self.loss_sum, {.help = "of the losses since the last curve point"});
    visit("loss_count", self.loss_count, {.help = "of the losses since the last curve point"});
    visit("warmup_seconds", self.warmup_seconds, {.help = "of all processes of the run"});
    visit("checkpoint_seconds", self.checkpoint_seconds, {.help = "of all processes of the run"});
    visit("precision", self.precision, {.help = "in use, after auto"});
    visit("config_fingerprint", self.config_fingerprint, {.help = "of the whole configuration"});
  }
};

struct SavedFile {
  int64_t bytes = 0;
  std::string sha256;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("bytes", self.bytes, {.help = "size of the file"});
    visit("sha256", self.sha256, {.help = "of the file"});
  }
};

struct CheckpointManifest {
  int format_version = 1;
  RunPosition position;
  std::map<std::string, SavedFile> files;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("format_version", self.format_version,
          {.help = "of this folder", .minimum = 1, .maximum = 1});
    visit("position", self.position, {.help = "where the run stands"});
    visit("files", self.files, {.help = "the other files"});
  }
};

/// Writes everything and replaces the checkpoint that is there; a kill at any moment leaves the old
/// or the new one. Errors: Error naming the file and the system's reason; the old one stays.
CheckpointManifest save_checkpoint(const std::filesystem::path& folder, const NamedTensors& weights,
                                   const NamedTensors& optimizer, const RunPosition& position);

/// True if there is a checkpoint. Puts back the old one that a kill between the two renames of
/// save_checkpoint left under its temporary name.
bool find_checkpoint(const std::filesystem::path& folder);

/// Errors: Error naming the file if there is none or it is not a manifest.
CheckpointManifest read_checkpoint_manifest(const std::filesystem::path& folder);

/// Copies one file of a checkpoint into the tensors, which must be exactly those saved, by name,
/// dtype and shape. Everything is checked before the first value changes.
/// Errors: Error that says which file is cut short or has flipped bytes, or lists the tensors that
/// are missing, left over or of another kind (copy_tensors).
void load_tensors(const std::filesystem::path& folder, const CheckpointManifest& manifest,
                  const std::string& file, const NamedTensors& tensors);

}  // namespace windtunnel::trainer

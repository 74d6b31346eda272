#include "trainer/checkpoint.h"

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "trainer/tensor_files.h"

namespace windtunnel::trainer {
namespace fs = std::filesystem;
namespace {

using base::Error;

constexpr const char* kManifestFile = "manifest.json";

SavedFile save(const fs::path& file, const NamedTensors& tensors) {
  write_tensors(file, tensors);
  return {.bytes = static_cast<int64_t>(fs::file_size(file)), .sha256 = base::sha256_of_file(file)};
}

/// Name of the checkpoint that a kill left between the two renames, if any.
fs::path left_aside(const fs::path& folder) {
  const std::string prefix = folder.filename().string() + ".tmp-old-";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.parent_path(), error)) {
    if (entry.path().filename().string().starts_with(prefix)) return entry.path();
  }
  return {};
}

}  // namespace

CheckpointManifest save_checkpoint(const fs::path& folder, const NamedTensors& weights,
                                   const NamedTensors& optimizer, const RunPosition& position) {
  CheckpointManifest manifest;
  manifest.position = position;
  base::write_folder_atomic(folder, [&](const fs::path& temporary) {
    manifest.files[kWeightsFile] = save(temporary / kWeightsFile, weights);
    manifest.files[kOptimizerFile] = save(temporary / kOptimizerFile, optimizer);
    base::write_json(temporary / kManifestFile, base::to_json(manifest));
  });
  return manifest;
}

bool find_checkpoint(const fs::path& folder) {
  if (fs::exists(folder)) return true;
  const fs::path old = left_aside(folder);
  if (old.empty()) return false;
  base::replace_folder(old, folder);
  return true;
}

CheckpointManifest read_checkpoint_manifest(const fs::path& folder) {
  const fs::path file = folder / kManifestFile;
  if (!fs::exists(file)) {
    throw Error("no checkpoint at " + folder.string() + ": " + kManifestFile + " is missing");
  }
  return base::from_json<CheckpointManifest>(base::read_json(file), file.string());
}

void load_tensors(const fs::path& folder, const CheckpointManifest& manifest,
                  const std::string& file, const NamedTensors& tensors) {
  const std::string subject = (folder / file).string();
  const auto entry = manifest.files.find(file);
  if (entry == manifest.files.end()) {
    throw Error((folder / kManifestFile).string() + " does not list " + file);
  }
  const std::string content = base::read_file(folder / file);
  const auto size = static_cast<int64_t>(content.size());
  if (size != entry->second.bytes) {
    throw Error(subject + (size < entry->second.bytes ? " is cut short" : " is too long") +
                ": it has " + std::to_string(size) + " bytes, the manifest says " +
                std::to_string(entry->second.bytes));
  }
  if (base::sha256(content) != entry->second.sha256) {
    throw Error(
        subject +
        " has flipped bytes: its SHA-256 is not the manifest's; restore the file, or delete "
        "the checkpoint to start over");
  }
  copy_tensors(content, subject, tensors);
}

}  // namespace windtunnel::trainer

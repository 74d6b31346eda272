#include "trainer/checkpoint.h"

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "base/text.h"
#include "trainer/safetensors.h"

namespace windtunnel::trainer {
namespace fs = std::filesystem;
namespace {

using base::Error;
using torch::Tensor;

constexpr const char* kManifestFile = "manifest.json";

std::string dtype_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "F32";
    case at::kDouble:
      return "F64";
    case at::kBFloat16:
      return "BF16";
    case at::kHalf:
      return "F16";
    case at::kLong:
      return "I64";
    case at::kInt:
      return "I32";
    case at::kByte:
      return "U8";
    case at::kBool:
      return "BOOL";
    default:
      throw std::logic_error(std::string("internal error: no safetensors dtype for ") +
                             at::toString(type));
  }
}

/// "F32 [2, 3]".
std::string kind_of(const std::string& dtype, const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return dtype + " [" + base::join(sizes, ", ") + "]";
}

SavedFile write_tensors(const fs::path& file, const NamedTensors& tensors) {
  std::vector<Tensor> on_cpu;  // keeps the values alive while they are written
  std::vector<TensorBytes> entries;
  for (const auto& [name, tensor] : tensors) {
    on_cpu.push_back(tensor.detach().cpu().contiguous());
    const Tensor& values = on_cpu.back();
    entries.push_back(
        {.name = name,
         .dtype = dtype_name(values.scalar_type()),
         .shape = values.sizes().vec(),
         .bytes = {static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()}});
  }
  write_safetensors(file, entries, {{"format", "pt"}});
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

void copy_values(const TensorBytes& source, const Tensor& target) {
  Tensor values = at::empty(source.shape, at::TensorOptions(target.scalar_type()));
  if (!source.bytes.empty()) {
    std::memcpy(values.mutable_data_ptr(), source.bytes.data(), source.bytes.size());
  }
  target.detach().copy_(values);
}

}  // namespace

CheckpointManifest save_checkpoint(const fs::path& folder, const NamedTensors& weights,
                                   const NamedTensors& optimizer, const RunPosition& position) {
  const fs::path temporary = base::temporary_name(folder);
  CheckpointManifest manifest;
  manifest.position = position;
  try {
    fs::remove_all(temporary);
    fs::create_directories(temporary);
    manifest.files[kWeightsFile] = write_tensors(temporary / kWeightsFile, weights);
    manifest.files[kOptimizerFile] = write_tensors(temporary / kOptimizerFile, optimizer);
    base::write_json(temporary / kManifestFile, base::to_json(manifest));
    base::sync_folder(temporary);
    base::replace_folder(temporary, folder);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
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
  std::map<std::string, TensorBytes> saved;
  for (TensorBytes& tensor : parse_safetensors(content, subject)) {
    saved[tensor.name] = std::move(tensor);
  }
  for (const auto& [name, tensor] : tensors) {
    const auto found = saved.find(name);
    if (found == saved.end()) throw Error(subject + " has no tensor '" + name + "'");
    const TensorBytes& source = found->second;
    if (source.shape != tensor.sizes().vec() || source.dtype != dtype_name(tensor.scalar_type())) {
      throw Error(subject + ": tensor '" + name + "' is " + kind_of(source.dtype, source.shape) +
                  ", the model has " +
                  kind_of(dtype_name(tensor.scalar_type()), tensor.sizes().vec()));
    }
  }
  if (saved.size() != tensors.size()) {
    for (const auto& [name, tensor] : tensors) saved.erase(name);
    throw Error(subject + " has the tensor '" + saved.begin()->first + "', the model has not");
  }
  for (const auto& [name, tensor] : tensors) copy_values(saved[name], tensor);
}

}  // namespace windtunnel::trainer

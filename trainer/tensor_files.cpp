#include "trainer/tensor_files.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "trainer/safetensors.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

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

std::string kind_of(const TensorBytes& tensor) { return kind_of(tensor.dtype, tensor.shape); }

std::string kind_of(const Tensor& tensor) {
  return kind_of(dtype_name(tensor.scalar_type()), tensor.sizes().vec());
}

std::vector<base::Problem> mismatches(std::map<std::string, TensorBytes> found,
                                      const NamedTensors& wanted) {
  std::vector<base::Problem> problems;
  for (const auto& [name, tensor] : wanted) {
    const auto entry = found.find(name);
    const std::string kind = kind_of(tensor);
    const std::string kind_found = entry == found.end() ? "missing" : kind_of(entry->second);
    if (kind_found != kind) problems.push_back({name, kind_found, "must be " + kind});
    if (entry != found.end()) found.erase(entry);
  }
  for (const auto& [name, tensor] : found) {
    problems.push_back({name, kind_of(tensor), "must not be there, the model has no such tensor"});
  }
  return problems;
}

void copy_values(const TensorBytes& source, const Tensor& target) {
  Tensor values = at::empty(source.shape, at::TensorOptions(target.scalar_type()));
  if (!source.bytes.empty()) {
    std::memcpy(values.mutable_data_ptr(), source.bytes.data(), source.bytes.size());
  }
  target.detach().copy_(values);
}

}  // namespace

void write_tensors(const std::filesystem::path& file, const NamedTensors& tensors,
                   std::map<std::string, std::string> metadata) {
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
  metadata["format"] = "pt";
  write_safetensors(file, entries, metadata);
}

void copy_tensors(std::string_view content, const std::string& subject,
                  const NamedTensors& tensors) {
  std::map<std::string, TensorBytes> saved;
  for (TensorBytes& tensor : parse_safetensors(content, subject)) {
    saved[tensor.name] = std::move(tensor);
  }
  auto problems = mismatches(saved, tensors);
  if (!problems.empty()) throw base::ConfigError(subject, std::move(problems));
  for (const auto& [name, tensor] : tensors) copy_values(saved[name], tensor);
}

}  // namespace windtunnel::trainer

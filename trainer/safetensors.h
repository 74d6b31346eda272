#pragma once
// The safetensors file format, without LibTorch: 8 bytes header size (little-endian), a JSON header
// with dtype, shape and position of each tensor, then the raw little-endian values. Files come from
// outside, so a reader believes nothing.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::trainer {

/// One tensor; `bytes` is borrowed from whoever owns the values.
struct TensorBytes {
  std::string name;
  /// "F32", "F64", "BF16", "F16", "I64", "I32", "U8", "BOOL" ...
  std::string dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Writes the tensors in the given order, not atomically: the caller writes into a folder of its
/// own under a temporary name. `metadata` becomes "__metadata__".
/// Errors: Error naming the file and the system's reason.
void write_safetensors(const std::filesystem::path& file, const std::vector<TensorBytes>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// The tensors of a file's whole content, in the order of their bytes, pointing into `content`.
///
/// Checks every rule of the format: header size within the file and at most 100,000,000 bytes, a
/// JSON object that starts with '{', no key twice, metadata of strings, known dtypes, shapes
/// without negative sizes whose product does not overflow, and offsets that agree with the shapes,
/// overlap nowhere, leave no hole and reach exactly to the end of the file.
///
/// Errors: Error that starts with `subject` and names the rule and the offending tensor.
/// Source: github.com/huggingface/safetensors, README, "Format".
std::vector<TensorBytes> parse_safetensors(std::string_view content, const std::string& subject);

/// "__metadata__" of a file's whole content; empty if it has none. Errors: as parse_safetensors, of
/// the header.
std::map<std::string, std::string> parse_metadata(std::string_view content,
                                                  const std::string& subject);

}  // namespace windtunnel::trainer

#pragma once
// LibTorch's tensors in safetensors files.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "trainer/optimizer.h"

namespace windtunnel::trainer {

/// Writes the tensors in the given order, whatever device they are on, each with its own dtype; not
/// atomically, see base::write_file_atomic. `metadata` is written beside {"format": "pt"}.
/// Errors: Error naming the file and the system's reason.
void write_tensors(const std::filesystem::path& file, const NamedTensors& tensors,
                   std::map<std::string, std::string> metadata = {});

/// Copies the content of a file into the tensors, which must be exactly those in it, by name, dtype
/// and shape. Everything is checked before the first value changes.
/// Errors: ConfigError that starts with `subject` and lists every tensor that is missing, left
/// over, of another shape or of another dtype, with what was found and what is wanted; Error if
/// `content` breaks a rule of the format.
void copy_tensors(std::string_view content, const std::string& subject,
                  const NamedTensors& tensors);

}  // namespace windtunnel::trainer

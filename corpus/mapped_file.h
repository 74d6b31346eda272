#pragma once
// A file's bytes without reading them first.

#include <filesystem>
#include <string_view>
#include <utility>

namespace windtunnel::corpus {

/// A read-only memory map of a file. The file must not shrink meanwhile; ours are only ever
/// replaced by renaming, which leaves the mapped one as it was.
class MappedFile {
 public:
  MappedFile() = default;
  /// Errors: Error naming the file and the system's reason.
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace windtunnel::corpus

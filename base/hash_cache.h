#pragma once
// Content hashes of files that are asked for again and again.

#include <filesystem>
#include <map>
#include <string>

namespace windtunnel::base {

/// SHA-256 of files, by content once and again whenever a file may have changed.
///
/// A file counts as unchanged if device, inode, size, time of modification and time of status
/// change (ctime) are what they were. Whoever writes a file can put its time of modification back,
/// but not its ctime: the kernel sets that to its own clock at every write, rename, link or change
/// of times. Only who sets the system's clock or writes to the disk below the file system can hide
/// a change. Both times tick with the kernel's timer, so a hash taken within two seconds of the
/// ctime is not relied on.
///
/// Cost: a stat where nothing changed, else the whole file at the speed of SHA-256.
class HashCache {
 public:
  /// Errors: Error naming the file if it cannot be read.
  std::string of(const std::filesystem::path& file);

 private:
  struct Identity {
    uint64_t device = 0, inode = 0, size = 0;
    int64_t modified_ns = 0, changed_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Entry {
    Identity identity;
    int64_t hashed_ns = 0;
    std::string hash;
  };
  static Identity identity_of(const std::filesystem::path& file);

  std::map<std::string, Entry> entries_;
};

}  // namespace windtunnel::base

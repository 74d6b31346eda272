#pragma once
// What a child may do with files, held by the kernel and not by the child's good will.

#include <filesystem>
#include <vector>

namespace windtunnel::base {

/// It may read everything but `hidden` and change nothing but `writable` (and devices); so may all
/// that it starts. Files and folders; what is not there is skipped. What comes into a folder above
/// a hidden one after the start cannot be read either.
///
/// Not covered: a second mount or hard link through which a hidden file has another name, and files
/// that this process hands on open. Who may read may list: names of hidden files are no secret.
struct FileAccess {
  std::vector<std::filesystem::path> writable = {};
  std::vector<std::filesystem::path> hidden = {};
};

/// True if this kernel can hold such rules (Landlock, Linux 5.13).
bool can_restrict_files();

/// The rules, ready to be put on a process between fork and exec.
///
/// Source: landlock(7). Rules only ever allow, and hold for everything below a folder; so hiding a
/// file means allowing each neighbour of each folder on the way to it.
class FileRules {
 public:
  /// Errors: Error if the kernel cannot hold them.
  explicit FileRules(const FileAccess& access);
  ~FileRules();
  FileRules(const FileRules&) = delete;
  FileRules& operator=(const FileRules&) = delete;

  /// For good; async-signal-safe. False with errno if the kernel refuses.
  bool restrict_this_process() const;

 private:
  int ruleset_ = -1;
};

}  // namespace windtunnel::base

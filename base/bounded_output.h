#pragma once
// The output of a child in a file that stays small, however much the child prints.

#include <filesystem>
#include <memory>

namespace windtunnel::base {

/// Copies a pipe into a file, from a thread of its own, so that a flood neither fills the disk nor
/// stops whoever writes it. Of more than `max_bytes` the first half stays, then a line that says
/// how much is left out, then the last half; that end is brought up to date once a second. Lines of
/// earlier processes in the file stay and are not counted.
///
/// A file that cannot be written (a full disk) loses the output, not the child.
class BoundedOutput {
 public:
  /// Errors: Error naming the file if it cannot be opened.
  BoundedOutput(const std::filesystem::path& file, int64_t max_bytes);
  ~BoundedOutput();

  /// Where the child writes; closed on exec.
  int write_end() const;
  /// This process's copy of it is not needed any more.
  void close_write_end();
  /// Takes what is in the pipe and ends the file; what comes later is lost.
  void finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace windtunnel::base

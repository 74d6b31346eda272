#pragma once
// Cuts bytes into the pieces that BPE never merges across.

#include <memory>
#include <string_view>

namespace windtunnel::corpus {

/// Walks over the pieces of a text by kSplitPattern. Each byte lies in exactly one piece: bytes
/// that are not UTF-8, which the pattern cannot match, form pieces of their own. One per thread.
class PieceSplitter {
 public:
  PieceSplitter();
  ~PieceSplitter();

  /// `bytes` is borrowed until the last next().
  void start(std::string_view bytes);
  /// The next piece, never empty; false at the end.
  bool next(std::string_view& piece);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string_view bytes_;
  size_t position_ = 0;
  /// A match already found behind a gap of invalid bytes; 0 if there is none.
  size_t pending_end_ = 0;
};

}  // namespace windtunnel::corpus

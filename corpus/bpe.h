#pragma once
// The merges of a byte-level BPE and how they apply to one piece.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace windtunnel::corpus {

using TokenPair = std::pair<int32_t, int32_t>;

inline uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

struct PairHash {
  size_t operator()(uint64_t key) const {
    key *= 0x9E3779B97F4A7C15ULL;
    return key ^ key >> 32;
  }
};

/// Tokens in rank order: id 0..255 are the bytes, each later id merges two earlier ones. A lower id
/// merges first.
class MergeTable {
 public:
  /// Errors: Error if a token is not one byte (first 256) or not a merge of two earlier tokens.
  explicit MergeTable(std::vector<std::string> tokens);

  const std::vector<std::string>& tokens() const { return tokens_; }
  /// What was merged into token 256 + i.
  const std::vector<TokenPair>& merges() const { return merges_; }

  /// Appends the tokens of one piece: of all adjacent pairs the one with the lowest merged id is
  /// merged, the leftmost first, until none is left. Cost: n log n.
  void encode_piece(std::string_view piece, std::vector<int32_t>& tokens) const;

 private:
  std::vector<std::string> tokens_;
  std::vector<TokenPair> merges_;
  std::unordered_map<uint64_t, int32_t, PairHash> merged_;
};

}  // namespace windtunnel::corpus

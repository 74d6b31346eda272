#include "corpus/bpe.h"

#include <algorithm>
#include <queue>

#include "base/error.h"

namespace windtunnel::corpus {
namespace {

/// A pair that could merge, unless one of its sides has changed since.
struct Candidate {
  int32_t merged;
  size_t left;
  size_t right;
  int32_t left_token;
  int32_t right_token;

  bool operator>(const Candidate& other) const {
    return merged != other.merged ? merged > other.merged : left > other.left;
  }
};

constexpr size_t kNone = static_cast<size_t>(-1);

}  // namespace

MergeTable::MergeTable(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  if (tokens_.size() < 256) {
    throw base::Error("a byte-level vocabulary has " + std::to_string(tokens_.size()) +
                      " tokens; it needs the 256 single bytes first");
  }
  for (size_t id = 0; id < 256; ++id) {
    if (tokens_[id].size() != 1 || static_cast<uint8_t>(tokens_[id][0]) != id) {
      throw base::Error("token " + std::to_string(id) + " must be the single byte of that value");
    }
  }
  merged_.reserve(tokens_.size());
  std::vector<int32_t> parts;
  for (size_t id = 256; id < tokens_.size(); ++id) {
    // With only the earlier merges a token falls into the two that it was made from.
    parts.clear();
    encode_piece(tokens_[id], parts);
    if (parts.size() != 2) {
      throw base::Error("token " + std::to_string(id) + " is not a merge of two earlier tokens");
    }
    merges_.emplace_back(parts[0], parts[1]);
    merged_.emplace(pair_key(parts[0], parts[1]), static_cast<int32_t>(id));
  }
}

void MergeTable::encode_piece(std::string_view piece, std::vector<int32_t>& tokens) const {
  if (piece.size() < 2) {
    if (!piece.empty()) tokens.push_back(static_cast<uint8_t>(piece[0]));
    return;
  }
  struct Node {
    int32_t token;
    size_t previous;
    size_t next;
  };
  std::vector<Node> nodes(piece.size());
  for (size_t i = 0; i < piece.size(); ++i) {
    nodes[i] = {static_cast<uint8_t>(piece[i]), i == 0 ? kNone : i - 1,
                i + 1 == piece.size() ? kNone : i + 1};
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](size_t left, size_t right) {
    if (left == kNone || right == kNone) return;
    const auto found = merged_.find(pair_key(nodes[left].token, nodes[right].token));
    if (found != merged_.end()) {
      candidates.push({found->second, left, right, nodes[left].token, nodes[right].token});
    }
  };
  for (size_t i = 0; i + 1 < piece.size(); ++i) consider(i, i + 1);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Node& left = nodes[best.left];
    const bool is_current = left.token == best.left_token && left.next == best.right &&
                            nodes[best.right].token == best.right_token;
    if (!is_current) continue;
    Node& right = nodes[best.right];
    left.token = best.merged;
    left.next = right.next;
    right.token = -1;
    if (right.next != kNone) nodes[right.next].previous = best.left;
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }
  for (size_t at = 0; at != kNone; at = nodes[at].next) tokens.push_back(nodes[at].token);
}

}  // namespace windtunnel::corpus

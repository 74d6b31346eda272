// Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909) on bytes. Text is counted as distinct
// pieces once; after that a merge touches only the pieces that hold the merged pair, and the counts
// of the pairs around it change by what disappeared and appeared there.

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "base/error.h"
#include "corpus/bpe.h"
#include "corpus/parallel.h"
#include "corpus/pieces.h"
#include "corpus/tokenizer.h"

namespace windtunnel::corpus {
namespace {

/// Text handed to the counting threads at a time.
constexpr size_t kCountBlockBytes = 8 << 20;

using PieceCounts = std::unordered_map<std::string_view, int64_t>;

struct Word {
  std::vector<int32_t> tokens;
  int64_t count = 0;
};

/// The distinct pieces of all documents with their counts, sorted by bytes.
std::vector<Word> count_pieces(const DocumentSource& documents) {
  std::vector<PieceCounts> counts(worker_count(SIZE_MAX));
  std::vector<PieceSplitter> splitters(counts.size());
  bool more = true;
  while (more) {
    std::vector<std::string_view> block;
    size_t bytes = 0;
    for (std::string_view document; bytes < kCountBlockBytes && (more = documents(document));) {
      bytes += document.size();
      block.push_back(document);
    }
    parallel_for(block.size(), [&](size_t item, size_t worker) {
      splitters[worker].start(block[item]);
      for (std::string_view piece; splitters[worker].next(piece);) ++counts[worker][piece];
    });
  }
  for (size_t worker = 1; worker < counts.size(); ++worker) {
    for (const auto& [piece, count] : counts[worker]) counts[0][piece] += count;
  }
  std::vector<std::pair<std::string_view, int64_t>> sorted(counts[0].begin(), counts[0].end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<Word> words;
  for (const auto& [piece, count] : sorted) {
    if (piece.size() < 2) continue;
    Word& word = words.emplace_back();
    word.count = count;
    for (const char byte : piece) word.tokens.push_back(static_cast<uint8_t>(byte));
  }
  return words;
}

/// The most frequent pair first; ties go to the smaller pair of ids.
struct HeapEntry {
  int64_t count;
  uint64_t pair;

  bool operator<(const HeapEntry& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class PairCounts {
 public:
  explicit PairCounts(std::vector<Word>& words) : words_(words) {
    for (uint32_t index = 0; index < words.size(); ++index) {
      const std::vector<int32_t>& tokens = words[index].tokens;
      for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        add(pair_key(tokens[i], tokens[i + 1]), words[index].count, index);
      }
    }
    for (const auto& [pair, entry] : entries_) heap_.push({entry.count, pair});
  }

  /// The pair to merge next; false if no two tokens are adjacent any more.
  bool most_frequent(uint64_t& pair) {
    while (!heap_.empty()) {
      const HeapEntry top = heap_.top();
      heap_.pop();
      const auto found = entries_.find(top.pair);
      if (found == entries_.end() || found->second.count <= 0) continue;
      if (found->second.count == top.count) {
        pair = top.pair;
        return true;
      }
      // Counts of pairs that are in the heap only fall, so a late correction never comes too late.
      heap_.push({found->second.count, top.pair});
    }
    return false;
  }

  void merge(uint64_t pair, int32_t merged) {
    const auto left = static_cast<int32_t>(pair >> 32);
    const auto right = static_cast<int32_t>(pair & 0xFFFFFFFF);
    const std::vector<uint32_t> indices = std::move(entries_.at(pair).words);
    appeared_.clear();
    for (const uint32_t index : indices) merge_in_word(index, left, right, merged);
    // Left to right, nothing of the pair is left over; what was subtracted on the way is moot.
    entries_.erase(pair);
    std::sort(appeared_.begin(), appeared_.end());
    appeared_.erase(std::unique(appeared_.begin(), appeared_.end()), appeared_.end());
    for (const uint64_t key : appeared_) {
      const auto found = entries_.find(key);
      if (found != entries_.end() && found->second.count > 0)
        heap_.push({found->second.count, key});
    }
  }

 private:
  struct Entry {
    int64_t count = 0;
    /// Pieces that held the pair when it appeared there; some may have lost it since.
    std::vector<uint32_t> words;
  };

  void add(uint64_t pair, int64_t count, uint32_t word) {
    Entry& entry = entries_[pair];
    entry.count += count;
    if (entry.words.empty() || entry.words.back() != word) entry.words.push_back(word);
  }

  void merge_in_word(uint32_t index, int32_t left, int32_t right, int32_t merged) {
    Word& word = words_[index];
    std::vector<int32_t>& tokens = word.tokens;
    size_t out = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i + 1 == tokens.size() || tokens[i] != left || tokens[i + 1] != right) {
        tokens[out++] = tokens[i];
        continue;
      }
      if (out > 0) {
        entries_[pair_key(tokens[out - 1], left)].count -= word.count;
        appear(pair_key(tokens[out - 1], merged), word.count, index);
      }
      if (i + 2 < tokens.size()) {
        entries_[pair_key(right, tokens[i + 2])].count -= word.count;
        appear(pair_key(merged, tokens[i + 2]), word.count, index);
      }
      tokens[out++] = merged;
      ++i;
    }
    tokens.resize(out);
  }

  void appear(uint64_t pair, int64_t count, uint32_t word) {
    add(pair, count, word);
    appeared_.push_back(pair);
  }

  std::vector<Word>& words_;
  std::unordered_map<uint64_t, Entry, PairHash> entries_;
  std::priority_queue<HeapEntry> heap_;
  std::vector<uint64_t> appeared_;
};

}  // namespace

Tokenizer train_tokenizer(const DocumentSource& documents, int64_t vocabulary_size,
                          const std::function<void(double)>& progress) {
  const std::vector<std::string> special = {kBeginOfDocument};
  const auto ranks = static_cast<size_t>(vocabulary_size) - special.size();
  base::check(vocabulary_size >= 257, "a vocabulary smaller than the bytes");
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  std::vector<Word> words = count_pieces(documents);
  PairCounts pairs(words);
  while (tokens.size() < ranks) {
    uint64_t pair = 0;
    if (!pairs.most_frequent(pair)) {
      throw base::Error("the text is too small for a vocabulary of " +
                        std::to_string(vocabulary_size) + " tokens: after " +
                        std::to_string(tokens.size() + special.size()) +
                        " no two tokens are left to merge; use more text or a vocabulary_size of " +
                        "at most that");
    }
    pairs.merge(pair, static_cast<int32_t>(tokens.size()));
    tokens.push_back(tokens[pair >> 32] + tokens[pair & 0xFFFFFFFF]);
    if (progress) {
      progress(static_cast<double>(tokens.size() - 256) / static_cast<double>(ranks - 256));
    }
  }
  return Tokenizer::from_ranks(std::move(tokens), special);
}

}  // namespace windtunnel::corpus

#include "corpus/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/fingerprint.h"
#include "corpus/bpe.h"
#include "corpus/pieces.h"
#include "corpus/tokenizer_tables.h"

namespace windtunnel::corpus {
namespace {

/// Longer pieces are rare and would fill the cache.
constexpr size_t kLongestCachedPiece = 128;
/// The cache starts over when it holds this many pieces.
constexpr size_t kMostCachedPieces = 1 << 20;

struct BytesHash {
  using is_transparent = void;
  size_t operator()(std::string_view bytes) const { return std::hash<std::string_view>{}(bytes); }
};

}  // namespace

Tokenizer Tokenizer::from_ranks(std::vector<std::string> tokens, std::vector<std::string> special) {
  base::check(!special.empty(), "a tokenizer needs its begin-of-document token");
  Tokenizer tokenizer;
  tokenizer.tables_ =
      std::make_shared<const Tables>(Tables{MergeTable(std::move(tokens)), std::move(special)});
  return tokenizer;
}

std::vector<int32_t> Tokenizer::encode(std::string_view bytes) const {
  std::vector<int32_t> tokens;
  Encoder(*this).encode(bytes, tokens);
  return tokens;
}

std::string Tokenizer::decode(std::span<const int32_t> tokens) const {
  std::string bytes;
  for (const int32_t token : tokens) bytes += token_bytes(token);
  return bytes;
}

std::string_view Tokenizer::token_bytes(int32_t token) const {
  if (is_special(token)) return {};
  return tables_->merges.tokens()[static_cast<size_t>(token)];
}

bool Tokenizer::is_special(int32_t token) const {
  if (token < 0 || token >= vocabulary_size()) {
    throw base::Error("token " + std::to_string(token) + " does not exist; ids are 0 to " +
                      std::to_string(vocabulary_size() - 1));
  }
  return token >= begin_of_document();
}

int64_t Tokenizer::vocabulary_size() const {
  return static_cast<int64_t>(tables_->merges.tokens().size() + tables_->special.size());
}

int32_t Tokenizer::begin_of_document() const {
  return static_cast<int32_t>(tables_->merges.tokens().size());
}

std::string Tokenizer::fingerprint() const {
  std::string all = kSplitPattern;
  for (const auto* list : {&tables_->merges.tokens(), &tables_->special}) {
    all += "\n" + std::to_string(list->size());
    for (const std::string& token : *list) all += "\n" + std::to_string(token.size()) + " " + token;
  }
  return base::sha256(all);
}

struct Encoder::Cache {
  struct Span {
    uint32_t begin;
    uint32_t count;
  };
  PieceSplitter splitter;
  std::unordered_map<std::string, Span, BytesHash, std::equal_to<>> spans;
  std::vector<int32_t> tokens;
};

Encoder::Encoder(Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)), cache_(std::make_unique<Cache>()) {}
Encoder::~Encoder() = default;

void Encoder::encode(std::string_view bytes, std::vector<int32_t>& tokens) {
  const MergeTable& merges = tokenizer_.tables_->merges;
  Cache& cache = *cache_;
  cache.splitter.start(bytes);
  for (std::string_view piece; cache.splitter.next(piece);) {
    if (piece.size() == 1) {
      tokens.push_back(static_cast<uint8_t>(piece[0]));
      continue;
    }
    if (piece.size() > kLongestCachedPiece) {
      merges.encode_piece(piece, tokens);
      continue;
    }
    auto found = cache.spans.find(piece);
    if (found == cache.spans.end()) {
      if (cache.spans.size() >= kMostCachedPieces) {
        cache.spans.clear();
        cache.tokens.clear();
      }
      const auto begin = static_cast<uint32_t>(cache.tokens.size());
      merges.encode_piece(piece, cache.tokens);
      const auto count = static_cast<uint32_t>(cache.tokens.size()) - begin;
      found = cache.spans.emplace(piece, Cache::Span{begin, count}).first;
    }
    const int32_t* first = cache.tokens.data() + found->second.begin;
    tokens.insert(tokens.end(), first, first + found->second.count);
  }
}

}  // namespace windtunnel::corpus

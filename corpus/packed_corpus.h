#pragma once
// A corpus on disk, ready to train on:
//
//   manifest.json             written last: that it exists means the corpus is complete
//   tokenizer.json, tokenizer.tiktoken
//   train-00000.tokens ...    token ids, little-endian uint16 (uint32 above 65,536 tokens);
//                             each document starts with the begin-of-document token
//   validation-00000.tokens
//   validation.text           the raw bytes of the validation documents, one after the other
//   locked/                   a third split, for the last word: locked-00000.tokens, locked.text,
//                             locked.documents.jsonl, accesses.jsonl (locked_split.h). No training
//                             or research reads it
//   train.documents.jsonl, validation.documents.jsonl
//                             a line per document in stream order: domain, file, bytes, tokens
//   sources.json              what it was made from: the recipe, and the hash of every source

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config.h"
#include "corpus/tokenizer.h"

namespace windtunnel::corpus {

struct ShardEntry {
  std::string file;
  int64_t tokens = 0;
  std::string sha256;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("file", self.file, {.help = "file name beside the manifest"});
    visit("tokens", self.tokens, {.help = "token ids in the file", .unit = "tokens"});
    visit("sha256", self.sha256, {.help = "of the file"});
  }
};

struct SplitEntry {
  int64_t documents = 0;
  /// Raw bytes of the text; special tokens have none.
  int64_t bytes = 0;
  /// Begin-of-document tokens included.
  int64_t tokens = 0;
  std::vector<ShardEntry> shards;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("documents", self.documents, {.help = "documents"});
    visit("bytes", self.bytes, {.help = "raw bytes of the text", .unit = "bytes"});
    visit("tokens", self.tokens, {.help = "tokens, begin-of-document included", .unit = "tokens"});
    visit("shards", self.shards, {.help = "token files in order"});
  }
};

struct CorpusManifest {
  std::string name;
  /// Fingerprint of the recipe and of the hashes of all source files: what this was made from.
  std::string source_fingerprint;
  std::string tokenizer_fingerprint;
  int64_t vocabulary_size = 0;
  int bytes_per_id = 2;
  SplitEntry train;
  SplitEntry validation;
  /// SHA-256 of validation.text.
  std::string validation_text_sha256;
  /// Absent in corpora of earlier versions and where no documents were left for it.
  std::optional<SplitEntry> locked;
  std::string locked_text_sha256;

  /// Identifies the data of a run (tokens and validation text, not where they came from): runs with
  /// different ones are not comparable.
  std::string fingerprint() const;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "name of the recipe"});
    visit("source_fingerprint", self.source_fingerprint,
          {.help = "hash of recipe and source files"});
    visit("tokenizer_fingerprint", self.tokenizer_fingerprint, {.help = "hash of the tokenizer"});
    visit("vocabulary_size", self.vocabulary_size, {.help = "special tokens included"});
    visit("bytes_per_id", self.bytes_per_id, {.help = "2 or 4"});
    visit("train", self.train, {.help = "training split"});
    visit("validation", self.validation, {.help = "validation split"});
    visit("validation_text_sha256", self.validation_text_sha256, {.help = "of validation.text"});
    visit("locked", self.locked, {.help = "split that is scored only when asked for"});
    visit("locked_text_sha256", self.locked_text_sha256, {.help = "of locked/locked.text"});
  }
};

/// Errors: Error naming the folder if it holds no complete corpus, with the command that makes one.
CorpusManifest read_manifest(const std::filesystem::path& folder);

enum class Split { kTrain, kValidation, kLocked };

/// "train", "validation", "locked": of its files too.
std::string name_of(Split split);

/// Folder of the locked split in a corpus.
inline constexpr const char* kLockedFolder = "locked";

/// The raw bytes of a held-out split.
std::filesystem::path text_file(const std::filesystem::path& folder, Split split);

/// Errors: Error with what to do if the corpus has no locked split.
const SplitEntry& split_of(const CorpusManifest& manifest, Split split,
                           const std::filesystem::path& folder);

/// The token ids of one split, memory-mapped; shared and read-only.
class TokenStream {
 public:
  /// Errors: Error if the split is empty, or naming the shard whose size disagrees with the
  /// manifest or that has ids outside the vocabulary. `verify_hashes` also finds any flipped byte.
  TokenStream(const std::filesystem::path& folder, Split split, bool verify_hashes = false);
  ~TokenStream();
  TokenStream(TokenStream&&) noexcept;

  int64_t size() const;
  int32_t operator[](int64_t index) const;
  /// out[i] = (*this)[first + i], faster.
  void copy(int64_t first, std::span<int64_t> out) const;
  /// Where each document starts (its begin-of-document token), in order; the last entry is size().
  const std::vector<int64_t>& document_starts() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace windtunnel::corpus

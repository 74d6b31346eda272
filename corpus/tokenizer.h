#pragma once
// Byte-level BPE: every byte string has tokens, and the bytes of the tokens are the bytes of the
// text.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::corpus {

/// Split pattern before BPE: GPT-4's with groups of one or two digits, compiled by PCRE2 with
/// Unicode properties. Bytes that are not UTF-8 form pieces of their own.
extern const char* const kSplitPattern;

/// Text of the special token that starts every document.
inline constexpr const char* kBeginOfDocument = "<|begin_of_document|>";

class Tokenizer {
 public:
  /// Reads tokenizer.json as written by save(). Errors: Error naming the file and what is wrong.
  static Tokenizer load(const std::filesystem::path& tokenizer_json);
  /// From the merged byte strings in rank order (the first 256 are the single bytes). Special
  /// tokens get the ids after them, begin-of-document first. Errors: Error if a token is not a
  /// merge of two earlier ones.
  static Tokenizer from_ranks(std::vector<std::string> tokens, std::vector<std::string> special);

  /// tokenizer.json for Hugging Face's tokenizers, and beside it tokenizer.tiktoken with the ranks.
  void save(const std::filesystem::path& tokenizer_json) const;

  /// Never gives a special token: text that spells one is ordinary text.
  std::vector<int32_t> encode(std::string_view bytes) const;
  /// Special tokens decode to nothing.
  std::string decode(std::span<const int32_t> tokens) const;
  /// The bytes of one token; empty for special tokens.
  std::string_view token_bytes(int32_t token) const;
  bool is_special(int32_t token) const;

  /// Special tokens included.
  int64_t vocabulary_size() const;
  int32_t begin_of_document() const;
  /// SHA-256 over ranks, special tokens and split pattern.
  std::string fingerprint() const;

 private:
  friend class Encoder;
  struct Tables;
  std::shared_ptr<const Tables> tables_;
};

/// Tokenizer::encode for many texts: remembers the tokens of the pieces it has seen. One per
/// thread.
class Encoder {
 public:
  explicit Encoder(Tokenizer tokenizer);
  ~Encoder();

  /// Appends the tokens of `bytes`.
  void encode(std::string_view bytes, std::vector<int32_t>& tokens);

 private:
  struct Cache;
  Tokenizer tokenizer_;
  std::unique_ptr<Cache> cache_;
};

/// Gives documents one after the other; false ends it. The bytes stay valid until training returns.
using DocumentSource = std::function<bool(std::string_view& document)>;

/// Trains merges on the documents until ranks + special tokens reach `vocabulary_size`.
/// Ties go to the smaller pair of ids, so the result depends on nothing but the documents.
/// `progress` gets the fraction done. Errors: Error if the text has too few distinct pairs.
Tokenizer train_tokenizer(const DocumentSource& documents, int64_t vocabulary_size,
                          const std::function<void(double)>& progress = {});

}  // namespace windtunnel::corpus

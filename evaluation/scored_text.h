#pragma once
// The text an evaluation scores, as tokens, with the count of its raw bytes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "corpus/tokenizer.h"

namespace windtunnel::evaluation {

struct ScoredText {
  /// All documents, each starting with the begin-of-document token.
  std::vector<int32_t> tokens;
  /// Where each document starts; the last entry is tokens.size().
  std::vector<int64_t> document_starts;
  /// Raw bytes of each document.
  std::vector<int64_t> document_bytes;
  /// Raw bytes of all: the denominator of bits per byte.
  int64_t bytes = 0;
  /// SHA-256 of those bytes.
  std::string sha256;
  /// By token of the vocabulary: see source_bytes.h. Empty: the source's figure is not wanted.
  std::vector<int64_t> source_bytes;

  int64_t documents() const { return static_cast<int64_t>(document_starts.size()) - 1; }
  /// Tokens that are predicted: all but the begin-of-document ones.
  int64_t scored_tokens() const { return static_cast<int64_t>(tokens.size()) - documents(); }
};

/// The validation split of a corpus.
/// Errors: Error if it is empty, if a shard is damaged, or if the bytes of its tokens are not as
/// many as those of validation.text.
ScoredText validation_text(const std::filesystem::path& corpus_folder,
                           const corpus::Tokenizer& tokenizer);

/// The locked split of a corpus. Every call is an access that corpus/locked_split.h counts, in the
/// name of `who` and for `run`, before anything is read.
/// Errors: as validation_text; Error that says what to do if the corpus has no locked split.
ScoredText locked_text(const std::filesystem::path& corpus_folder,
                       const corpus::Tokenizer& tokenizer, const std::string& who,
                       const std::string& run);

/// A file as one document, whatever bytes it holds. Errors: Error if it is missing or empty.
ScoredText text_of_file(const std::filesystem::path& file, const corpus::Tokenizer& tokenizer);

}  // namespace windtunnel::evaluation

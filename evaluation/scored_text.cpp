#include "evaluation/scored_text.h"

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "corpus/locked_split.h"
#include "corpus/packed_corpus.h"
#include "evaluation/source_bytes.h"

namespace windtunnel::evaluation {
namespace fs = std::filesystem;
namespace {

/// Counts the bytes of each document by its tokens; returns their sum.
int64_t count_document_bytes(ScoredText& text, const corpus::Tokenizer& tokenizer) {
  int64_t all = 0;
  for (int64_t document = 0; document < text.documents(); ++document) {
    const auto index = static_cast<size_t>(document);
    int64_t bytes = 0;
    for (int64_t i = text.document_starts[index]; i < text.document_starts[index + 1]; ++i) {
      const int32_t token = text.tokens[static_cast<size_t>(i)];
      bytes += static_cast<int64_t>(tokenizer.token_bytes(token).size());
    }
    text.document_bytes.push_back(bytes);
    all += bytes;
  }
  return all;
}

/// Every document starts with the one special token it has.
void check_special_tokens(const ScoredText& text, const corpus::Tokenizer& tokenizer,
                          const std::string& name, const fs::path& folder) {
  int64_t special = 0;
  for (const int32_t token : text.tokens) special += tokenizer.is_special(token) ? 1 : 0;
  for (int64_t i = 0; i < text.documents(); ++i) {
    const int32_t first = text.tokens[static_cast<size_t>(text.document_starts[i])];
    if (first != tokenizer.begin_of_document()) special = -1;
  }
  if (special != text.documents()) {
    throw base::Error("the " + name + " split of " + folder.string() +
                      " must have one special token in front of each document and no other; build "
                      "the corpus again");
  }
}

/// Tokens of a split, checked against its raw bytes.
ScoredText text_of_split(const fs::path& corpus_folder, corpus::Split split,
                         const corpus::Tokenizer& tokenizer) {
  const std::string name = corpus::name_of(split);
  const corpus::TokenStream stream(corpus_folder, split, true);
  ScoredText text;
  text.document_starts = stream.document_starts();
  text.tokens.reserve(static_cast<size_t>(stream.size()));
  for (int64_t i = 0; i < stream.size(); ++i) text.tokens.push_back(stream[i]);
  if (text.documents() < 1 || text.scored_tokens() < 1) {
    throw base::Error("corpus " + corpus_folder.string() + " has no " + name +
                      " tokens; build it with a larger " + name + "_fraction");
  }
  check_special_tokens(text, tokenizer, name, corpus_folder);
  const fs::path file = corpus::text_file(corpus_folder, split);
  const std::string raw = base::read_file(file);
  text.bytes = static_cast<int64_t>(raw.size());
  text.sha256 = base::sha256(raw);
  text.source_bytes = source_byte_lengths(tokenizer);
  if (const int64_t bytes = count_document_bytes(text, tokenizer); bytes != text.bytes) {
    throw base::Error("the " + name + " tokens of " + corpus_folder.string() + " stand for " +
                      std::to_string(bytes) + " bytes, but " + file.filename().string() + " has " +
                      std::to_string(text.bytes) + "; build the corpus again");
  }
  return text;
}

}  // namespace

ScoredText validation_text(const fs::path& corpus_folder, const corpus::Tokenizer& tokenizer) {
  return text_of_split(corpus_folder, corpus::Split::kValidation, tokenizer);
}

ScoredText locked_text(const fs::path& corpus_folder, const corpus::Tokenizer& tokenizer,
                       const std::string& who, const std::string& run) {
  corpus::count_locked_access(corpus_folder, who, run);
  return text_of_split(corpus_folder, corpus::Split::kLocked, tokenizer);
}

ScoredText text_of_file(const fs::path& file, const corpus::Tokenizer& tokenizer) {
  const std::string raw = base::read_file(file);
  if (raw.empty()) throw base::Error(file.string() + " is empty: there is nothing to score");
  ScoredText text;
  text.tokens = tokenizer.encode(raw);
  text.tokens.insert(text.tokens.begin(), tokenizer.begin_of_document());
  text.document_starts = {0, static_cast<int64_t>(text.tokens.size())};
  text.bytes = static_cast<int64_t>(raw.size());
  text.sha256 = base::sha256(raw);
  text.source_bytes = source_byte_lengths(tokenizer);
  base::check(count_document_bytes(text, tokenizer) == text.bytes, "tokens lose bytes of the text");
  return text;
}

}  // namespace windtunnel::evaluation

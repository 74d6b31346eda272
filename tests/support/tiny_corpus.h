#pragma once
// A packed corpus made by hand: one token per byte, a few hundred short documents.

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/fingerprint.h"
#include "base/random.h"
#include "corpus/packed_corpus.h"

namespace windtunnel::tests {

/// Vocabulary: the 256 bytes and begin-of-document.
inline corpus::Tokenizer byte_tokenizer() {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  return corpus::Tokenizer::from_ranks(std::move(bytes), {corpus::kBeginOfDocument});
}

/// Sentences of few words: something that can be learned in a handful of steps.
inline std::vector<std::string> tiny_documents(size_t count, uint64_t seed) {
  static const std::vector<std::string> words = {"the ", "wind ", "tunnel ", "blows ",  "over ",
                                                 "a ",   "wing ", "and ",    "stops.\n"};
  base::RandomStream random(seed, "documents");
  std::vector<std::string> documents(count);
  for (std::string& document : documents) {
    const uint64_t length = 1 + random.below(30);
    for (uint64_t i = 0; i < length; ++i) document += words[random.below(words.size())];
  }
  return documents;
}

inline void write_split(const std::filesystem::path& folder, const std::string& name,
                        const std::vector<std::string>& documents,
                        const corpus::Tokenizer& tokenizer, corpus::SplitEntry& split) {
  std::string ids;
  const auto add = [&](int32_t token) {
    ids.push_back(static_cast<char>(token & 0xff));
    ids.push_back(static_cast<char>(token >> 8));
    ++split.tokens;
  };
  for (const std::string& document : documents) {
    add(tokenizer.begin_of_document());
    for (const int32_t token : tokenizer.encode(document)) add(token);
    split.bytes += static_cast<int64_t>(document.size());
    ++split.documents;
  }
  const std::string file = name + "-00000.tokens";
  base::write_file_atomic(folder / file, ids);
  split.shards = {{.file = file, .tokens = split.tokens, .sha256 = base::sha256(ids)}};
}

/// Writes the corpus and returns its manifest.
inline corpus::CorpusManifest write_corpus(const std::filesystem::path& folder,
                                           const std::vector<std::string>& train,
                                           const std::vector<std::string>& validation) {
  const corpus::Tokenizer tokenizer = byte_tokenizer();
  std::filesystem::create_directories(folder);
  tokenizer.save(folder / "tokenizer.json");
  corpus::CorpusManifest manifest;
  manifest.name = "tiny";
  manifest.tokenizer_fingerprint = tokenizer.fingerprint();
  manifest.vocabulary_size = tokenizer.vocabulary_size();
  write_split(folder, "train", train, tokenizer, manifest.train);
  write_split(folder, "validation", validation, tokenizer, manifest.validation);
  std::string text;
  for (const std::string& document : validation) text += document;
  base::write_file_atomic(folder / "validation.text", text);
  manifest.validation_text_sha256 = base::sha256(text);
  base::write_json(folder / "manifest.json", base::to_json(manifest));
  return manifest;
}

inline corpus::CorpusManifest write_tiny_corpus(const std::filesystem::path& folder) {
  return write_corpus(folder, tiny_documents(200, 1), tiny_documents(20, 2));
}

/// Adds a locked split to a corpus and returns its manifest.
inline corpus::CorpusManifest lock_documents(const std::filesystem::path& folder,
                                             const std::vector<std::string>& documents) {
  corpus::CorpusManifest manifest = corpus::read_manifest(folder);
  manifest.locked.emplace();
  write_split(folder, std::string(corpus::kLockedFolder) + "/locked", documents, byte_tokenizer(),
              *manifest.locked);
  std::string text;
  for (const std::string& document : documents) text += document;
  base::write_file_atomic(corpus::text_file(folder, corpus::Split::kLocked), text);
  manifest.locked_text_sha256 = base::sha256(text);
  base::write_json(folder / "manifest.json", base::to_json(manifest));
  return manifest;
}

}  // namespace windtunnel::tests

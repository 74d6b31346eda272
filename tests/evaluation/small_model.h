#pragma once
// A model with random weights over the byte vocabulary, and texts for it.

#include <string>
#include <vector>

#include "evaluation/scored_text.h"
#include "model/language_model.h"
#include "tests/support/tiny_corpus.h"

namespace windtunnel::tests {

inline constexpr int64_t kContext = 16;

inline model::LanguageModel small_model(const std::string& pattern = "*D*E") {
  model::ModelConfig config;
  config.pattern = pattern;
  config.width = 16;
  config.context_tokens = kContext;
  return {model::resolve(config, byte_tokenizer().vocabulary_size()),
          base::RandomStream(3, "weights")};
}

inline evaluation::ScoredText scored(const std::vector<std::string>& documents) {
  const corpus::Tokenizer tokenizer = byte_tokenizer();
  evaluation::ScoredText text;
  for (const std::string& document : documents) {
    text.document_starts.push_back(static_cast<int64_t>(text.tokens.size()));
    text.tokens.push_back(tokenizer.begin_of_document());
    for (const int32_t token : tokenizer.encode(document)) text.tokens.push_back(token);
    text.document_bytes.push_back(static_cast<int64_t>(document.size()));
    text.bytes += text.document_bytes.back();
  }
  text.document_starts.push_back(static_cast<int64_t>(text.tokens.size()));
  return text;
}

}  // namespace windtunnel::tests

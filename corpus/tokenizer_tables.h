#pragma once
// What a Tokenizer holds; for the files that implement it.

#include <string>
#include <vector>

#include "corpus/bpe.h"
#include "corpus/tokenizer.h"

namespace windtunnel::corpus {

struct Tokenizer::Tables {
  MergeTable merges;
  /// Ids follow the merged tokens; the first is begin-of-document.
  std::vector<std::string> special;
};

}  // namespace windtunnel::corpus

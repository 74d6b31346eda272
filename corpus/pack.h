#pragma once
// From documents to the files of a packed corpus.

#include <filesystem>
#include <vector>

#include "corpus/build.h"
#include "corpus/debian_package.h"
#include "corpus/text_store.h"

namespace windtunnel::corpus {

struct SplitPlan {
  std::vector<Document> train;
  std::vector<Document> validation;
  /// Empty if the recipe wants none or there are fewer than three different texts.
  std::vector<Document> locked;
};

/// Holds out the documents whose hash, read as a fraction, lies below validation_fraction, or the
/// one with the lowest hash if there is none; locks those within locked_fraction above that, or the
/// next one. Parts of one text share a hash, so they never
/// straddle the splits. Under max_validation_bytes (max_locked_bytes) the held-out documents that
/// are kept are an even sample: they are taken in the order of the hash of their own text. Errors:
/// Error if a split would be empty that the recipe wants.
SplitPlan plan_splits(const std::vector<Document>& documents, const CorpusRecipe& recipe);

/// 64 MiB files at two bytes an id.
inline constexpr int64_t kShardTokens = 1 << 25;

/// Writes the shards and the document list of one split. `name` as name_of().
SplitEntry pack_split(const std::vector<Document>& documents, const Tokenizer& tokenizer,
                      const CorpusRecipe& recipe, const std::filesystem::path& folder,
                      const std::string& name, const PhaseProgress& progress,
                      int64_t shard_tokens = kShardTokens);

/// 2 or 4: the smallest id size that holds the vocabulary.
int bytes_per_id(int64_t vocabulary_size);

}  // namespace windtunnel::corpus

#pragma once
// The files a score depends on, held to their content from before a run starts until it is scored.

#include <map>
#include <string>
#include <vector>

#include "base/hash_cache.h"
#include "corpus/packed_corpus.h"

namespace windtunnel::study {

/// Program, configuration, corpus and, once there are any, weights. The same files are hashed again
/// after training and after the evaluation; what differs makes the score worthless.
///
/// What was changed and put back between two looks is not seen; the rules of base/file_access.h are
/// what keeps a run from that.
///
/// Cost: what HashCache says: a stat a file while nothing changes.
class TrustedFiles {
 public:
  /// `cache` outlives it and is shared by all runs of a runner.
  explicit TrustedFiles(base::HashCache& cache) : cache_(&cache) {}

  /// Hashes a file now. Several files of one name are one thing. Errors: Error naming the file.
  void add(const std::string& name, const std::filesystem::path& file);
  /// Manifest, tokenizer, tokens of training and validation, validation text.
  /// Errors: Error naming the file that is missing or is not what the manifest says.
  void add_corpus(const std::filesystem::path& folder);

  /// The first file that is not what it was, as a sentence; "" if there is none.
  std::string changed() const;
  /// By name; of several files the hash of their hashes.
  std::map<std::string, std::string> hashes() const;

 private:
  void add(const std::string& name, const std::filesystem::path& file, const std::string& expected);

  struct Item {
    std::string name;
    std::filesystem::path file;
    std::string sha256;
  };
  base::HashCache* cache_;  // owned by the runner
  std::vector<Item> items_;
};

}  // namespace windtunnel::study

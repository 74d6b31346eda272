#include "corpus/packed_corpus.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "corpus/mapped_file.h"

namespace windtunnel::corpus {
namespace fs = std::filesystem;
using base::Error;

static_assert(std::endian::native == std::endian::little, "token files are mapped as they are");

std::string CorpusManifest::fingerprint() const {
  base::Json data = {{"tokenizer", tokenizer_fingerprint},
                     {"bytes_per_id", bytes_per_id},
                     {"validation_text", validation_text_sha256}};
  for (const auto& [key, split] : {std::pair{"train", &train}, {"validation", &validation}}) {
    for (const ShardEntry& shard : split->shards) data[key].push_back(shard.sha256);
  }
  if (locked) data["locked_text"] = locked_text_sha256;
  return base::fingerprint(data);
}

CorpusManifest read_manifest(const fs::path& folder) {
  const fs::path file = folder / "manifest.json";
  if (!fs::exists(file)) {
    throw Error(folder.string() +
                " holds no complete corpus (it has no manifest.json); make one with: windtunnel "
                "corpus programs/corpora/debian_docs.yaml");
  }
  const base::Json json = base::read_json(file);
  return base::from_json<CorpusManifest>(json, file.string());
}

std::string name_of(Split split) {
  switch (split) {
    case Split::kTrain:
      return "train";
    case Split::kValidation:
      return "validation";
    case Split::kLocked:
      return "locked";
  }
  throw std::logic_error("internal error: no such split");
}

fs::path text_file(const fs::path& folder, Split split) {
  const std::string name = name_of(split) + ".text";
  return split == Split::kLocked ? folder / kLockedFolder / name : folder / name;
}

const SplitEntry& split_of(const CorpusManifest& manifest, Split split, const fs::path& folder) {
  if (split == Split::kTrain) return manifest.train;
  if (split == Split::kValidation) return manifest.validation;
  if (!manifest.locked) {
    throw Error("corpus " + folder.string() +
                " has no locked split: an earlier version built it, its recipe has "
                "locked_fraction = 0, or it has fewer than three documents; remove the folder and "
                "build it again with windtunnel corpus, then train again");
  }
  return *manifest.locked;
}

struct TokenStream::Parts {
  struct Shard {
    MappedFile file;
    int64_t begin = 0;
    int64_t end = 0;
  };
  std::vector<Shard> shards;
  std::vector<int64_t> document_starts;
  int64_t size = 0;
  int bytes_per_id = 2;

  int32_t at(const Shard& shard, int64_t index) const {
    const char* data = shard.file.bytes().data();
    const auto offset = static_cast<size_t>(index - shard.begin);
    if (bytes_per_id == 2) {
      uint16_t id;
      std::memcpy(&id, data + 2 * offset, sizeof id);
      return id;
    }
    int32_t id;
    std::memcpy(&id, data + 4 * offset, sizeof id);
    return id;
  }

  const Shard& shard_of(int64_t index) const {
    base::check(index >= 0 && index < size, "a token index outside the split");
    const auto found =
        std::upper_bound(shards.begin(), shards.end(), index,
                         [](int64_t wanted, const Shard& shard) { return wanted < shard.end; });
    return *found;
  }
};

TokenStream::TokenStream(const fs::path& folder, Split split, bool verify_hashes)
    : parts_(std::make_unique<Parts>()) {
  const CorpusManifest manifest = read_manifest(folder);
  const SplitEntry& entry = split_of(manifest, split, folder);
  const std::string name = split == Split::kTrain ? "training" : name_of(split);
  const std::string rebuild =
      "; remove the folder " + folder.string() + " and build the corpus again";
  parts_->bytes_per_id = manifest.bytes_per_id;
  for (const ShardEntry& shard : entry.shards) {
    const fs::path file = folder / shard.file;
    if (!fs::is_regular_file(file)) throw Error(file.string() + " is missing" + rebuild);
    const auto expected = static_cast<uint64_t>(shard.tokens * manifest.bytes_per_id);
    if (fs::file_size(file) != expected) {
      throw Error(file.string() + " has " + std::to_string(fs::file_size(file)) +
                  " bytes, but the manifest says " + std::to_string(expected) + rebuild);
    }
    if (verify_hashes && base::sha256_of_file(file) != shard.sha256) {
      throw Error(file.string() + " has changed: its SHA-256 is not the manifest's" + rebuild);
    }
    parts_->shards.push_back({MappedFile(file), parts_->size, parts_->size + shard.tokens});
    parts_->size += shard.tokens;
  }
  if (parts_->size == 0) {
    throw Error(folder.string() + " has no " + name + " tokens; add text to its recipe");
  }

  // Every document starts with the same special token, so the first one says which it is.
  const int32_t begin_of_document = (*this)[0];
  for (const Parts::Shard& shard : parts_->shards) {
    for (int64_t i = shard.begin; i < shard.end; ++i) {
      const int32_t id = parts_->at(shard, i);
      if (id == begin_of_document) parts_->document_starts.push_back(i);
      if (id < 0 || id >= manifest.vocabulary_size) {
        throw Error("the " + name + " tokens of " + folder.string() + " have id " +
                    std::to_string(id) + " at position " + std::to_string(i) +
                    ", outside the vocabulary of " + std::to_string(manifest.vocabulary_size) +
                    rebuild);
      }
    }
  }
  const auto found = static_cast<int64_t>(parts_->document_starts.size());
  if (found != entry.documents) {
    throw Error("the " + name + " tokens of " + folder.string() + " hold " + std::to_string(found) +
                " documents, but the manifest says " + std::to_string(entry.documents) + rebuild);
  }
  parts_->document_starts.push_back(parts_->size);
}

TokenStream::~TokenStream() = default;
TokenStream::TokenStream(TokenStream&&) noexcept = default;

int64_t TokenStream::size() const { return parts_->size; }

int32_t TokenStream::operator[](int64_t index) const {
  return parts_->at(parts_->shard_of(index), index);
}

void TokenStream::copy(int64_t first, std::span<int64_t> out) const {
  for (size_t done = 0; done < out.size();) {
    const Parts::Shard& shard = parts_->shard_of(first);
    for (; done < out.size() && first < shard.end; ++first) out[done++] = parts_->at(shard, first);
  }
}

const std::vector<int64_t>& TokenStream::document_starts() const { return parts_->document_starts; }

}  // namespace windtunnel::corpus

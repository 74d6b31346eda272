#include "study/trusted_files.h"

#include "base/error.h"
#include "base/fingerprint.h"

namespace windtunnel::study {
namespace fs = std::filesystem;

void TrustedFiles::add(const std::string& name, const fs::path& file) {
  items_.push_back({name, file, cache_->of(file)});
}

void TrustedFiles::add(const std::string& name, const fs::path& file, const std::string& expected) {
  add(name, file);
  if (items_.back().sha256 != expected) {
    throw base::Error(file.string() +
                      " has changed: its SHA-256 is not the manifest's; build the corpus again");
  }
}

void TrustedFiles::add_corpus(const fs::path& folder) {
  const corpus::CorpusManifest manifest = corpus::read_manifest(folder);
  add("manifest", folder / "manifest.json");
  add("tokenizer", folder / "tokenizer.json");
  for (const auto& shard : manifest.train.shards) {
    add("training tokens", folder / shard.file, shard.sha256);
  }
  for (const auto& shard : manifest.validation.shards) {
    add("validation tokens", folder / shard.file, shard.sha256);
  }
  add("validation text", folder / "validation.text", manifest.validation_text_sha256);
}

std::string TrustedFiles::changed() const {
  for (const Item& item : items_) {
    try {
      if (cache_->of(item.file) == item.sha256) continue;
    } catch (const base::Error& error) {
      return "the " + item.name + " cannot be read any more: " + error.what();
    }
    return "the " + item.name + " changed: " + item.file.string();
  }
  return {};
}

std::map<std::string, std::string> TrustedFiles::hashes() const {
  std::map<std::string, std::vector<std::string>> of_name;
  for (const Item& item : items_) of_name[item.name].push_back(item.sha256);
  std::map<std::string, std::string> result;
  for (const auto& [name, hashes] : of_name) {
    result[name] = hashes.size() == 1 ? hashes[0] : base::fingerprint(hashes);
  }
  return result;
}

}  // namespace windtunnel::study

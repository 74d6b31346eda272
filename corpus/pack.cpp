#include "corpus/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "corpus/parallel.h"

namespace windtunnel::corpus {
namespace fs = std::filesystem;
using base::Error;
using base::Json;
namespace {

/// Text encoded between two looks at the progress and at Ctrl-C.
constexpr size_t kBlockBytes = 4 << 20;

/// The first 16 hex digits of a hash as a number in [0, 1).
double hash_fraction(const std::string& hash) {
  return std::ldexp(static_cast<double>(std::stoull(hash.substr(0, 16), nullptr, 16) >> 11), -53);
}

/// Collects ids and writes a shard whenever one is full.
class ShardWriter {
 public:
  ShardWriter(const fs::path& folder, const std::string& name, int id_bytes, int64_t shard_tokens)
      : folder_(folder), name_(name), id_bytes_(id_bytes), shard_tokens_(shard_tokens) {}

  void add(int32_t id) {
    const auto bits = static_cast<uint32_t>(id);
    for (int byte = 0; byte < id_bytes_; ++byte) {
      content_ += static_cast<char>(bits >> (8 * byte) & 0xFF);
    }
    if (++tokens_ == shard_tokens_) write();
  }

  std::vector<ShardEntry> finish() {
    if (tokens_ > 0) write();
    return std::move(shards_);
  }

 private:
  void write() {
    const std::string file = fmt::format("{}-{:05}.tokens", name_, shards_.size());
    base::write_file_atomic(folder_ / file, content_);
    shards_.push_back({file, tokens_, base::sha256(content_)});
    content_.clear();
    tokens_ = 0;
  }

  fs::path folder_;
  std::string name_;
  int id_bytes_;
  int64_t shard_tokens_;
  std::string content_;
  int64_t tokens_ = 0;
  std::vector<ShardEntry> shards_;
};

std::vector<Document> limited_sample(std::vector<Document> documents, int64_t max_bytes) {
  std::vector<std::pair<std::string, size_t>> order;
  for (size_t i = 0; i < documents.size(); ++i) {
    order.emplace_back(base::sha256(documents[i].text), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Document> kept;
  int64_t bytes = 0;
  for (const auto& [hash, index] : order) {
    const auto size = static_cast<int64_t>(documents[index].text.size());
    if (max_bytes > 0 && bytes + size > max_bytes) continue;
    bytes += size;
    kept.push_back(std::move(documents[index]));
  }
  return kept;
}

/// The lowest hash that is not held out for validation; "" if there is to be no locked split.
template <class IsHeldOut>
std::string lowest_locked(const std::vector<Document>& documents, const CorpusRecipe& recipe,
                          const IsHeldOut& is_held_out) {
  if (recipe.locked_fraction == 0) return {};
  std::set<std::string> others;
  for (const Document& document : documents) {
    if (!is_held_out(document.hash)) others.insert(document.hash);
  }
  // One of them must be left to train on.
  return others.size() < 2 ? std::string() : *others.begin();
}

}  // namespace

SplitPlan plan_splits(const std::vector<Document>& documents, const CorpusRecipe& recipe) {
  base::check(!documents.empty(), "nothing to split");
  std::string lowest = documents[0].hash;
  for (const Document& document : documents) lowest = std::min(lowest, document.hash);
  const auto is_held_out = [&](const std::string& hash) {
    return hash_fraction(hash) < recipe.validation_fraction || hash == lowest;
  };
  const std::string first_locked = lowest_locked(documents, recipe, is_held_out);
  const double end = recipe.validation_fraction + recipe.locked_fraction;
  SplitPlan plan;
  std::vector<Document> held_out, locked;
  for (const Document& document : documents) {
    const bool is_locked = !first_locked.empty() &&
                           (hash_fraction(document.hash) < end || document.hash == first_locked);
    (is_held_out(document.hash) ? held_out : is_locked ? locked : plan.train).push_back(document);
  }
  if (plan.train.empty()) {
    throw Error("the corpus '" + recipe.name + "' has " +
                (documents.size() == 1 || documents[0].hash == documents.back().hash
                     ? "only one document, so that nothing can be held out for validation; give at "
                       "least two files"
                     : "no training documents at validation_fraction = " +
                           base::format_number(recipe.validation_fraction) +
                           "; lower it or add documents"));
  }
  plan.validation = limited_sample(std::move(held_out), recipe.max_validation_bytes);
  if (plan.validation.empty()) {
    throw Error("the validation split of '" + recipe.name + "' is empty: max_validation_bytes = " +
                std::to_string(recipe.max_validation_bytes) +
                " is less than any held-out document has; raise it");
  }
  const bool wants_locked = !locked.empty();
  plan.locked = limited_sample(std::move(locked), recipe.max_locked_bytes);
  if (wants_locked && plan.locked.empty()) {
    throw Error("the locked split of '" + recipe.name +
                "' is empty: max_locked_bytes = " + std::to_string(recipe.max_locked_bytes) +
                " is less than any locked document has; raise it, or set locked_fraction to 0");
  }
  return plan;
}

SplitEntry pack_split(const std::vector<Document>& documents, const Tokenizer& tokenizer,
                      const CorpusRecipe& recipe, const fs::path& folder, const std::string& name,
                      const PhaseProgress& progress, int64_t shard_tokens) {
  SplitEntry entry;
  entry.documents = static_cast<int64_t>(documents.size());
  int64_t all_bytes = 0;
  for (const Document& document : documents) {
    all_bytes += static_cast<int64_t>(document.text.size());
  }
  ShardWriter writer(folder, name, bytes_per_id(tokenizer.vocabulary_size()), shard_tokens);
  std::string list;
  std::vector<std::unique_ptr<Encoder>> encoders;
  for (size_t i = 0; i < worker_count(documents.size()); ++i) {
    encoders.push_back(std::make_unique<Encoder>(tokenizer));
  }
  for (size_t first = 0; first < documents.size();) {
    base::stop_if_interrupted();
    size_t count = 0;
    for (size_t bytes = 0; first + count < documents.size() && bytes < kBlockBytes; ++count) {
      bytes += documents[first + count].text.size();
    }
    std::vector<std::vector<int32_t>> encoded(count);
    parallel_for(count, [&](size_t item, size_t worker) {
      encoders[worker]->encode(documents[first + item].text, encoded[item]);
    });
    for (size_t item = 0; item < count; ++item) {
      const Document& document = documents[first + item];
      writer.add(tokenizer.begin_of_document());
      for (const int32_t id : encoded[item]) writer.add(id);
      entry.tokens += 1 + static_cast<int64_t>(encoded[item].size());
      entry.bytes += static_cast<int64_t>(document.text.size());
      const Json line = {{"domain", recipe.sources[document.source].domain},
                         {"file", document.file},
                         {"bytes", document.text.size()},
                         {"tokens", 1 + encoded[item].size()}};
      list += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
    first += count;
    progress(static_cast<double>(entry.bytes) / static_cast<double>(all_bytes),
             base::format_number(static_cast<double>(entry.bytes) / 1e6, 3) + " MB, " +
                 base::format_count(static_cast<double>(entry.tokens)) + " tokens");
  }
  entry.shards = writer.finish();
  base::write_file_atomic(folder / (name + ".documents.jsonl"), list);
  return entry;
}

int bytes_per_id(int64_t vocabulary_size) { return vocabulary_size <= 65536 ? 2 : 4; }

}  // namespace windtunnel::corpus

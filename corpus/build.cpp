#include "corpus/build.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "corpus/extract.h"
#include "corpus/pack.h"
#include "corpus/parallel.h"
#include "corpus/text_store.h"

namespace windtunnel::corpus {
namespace fs = std::filesystem;
using base::Error;
using base::Json;
namespace {

/// Goes up when extraction or splitting gives other text from the same files.
constexpr int kFormat = 2;

/// Share of the tokenizer's time that goes into counting pieces; merging is the rest.
constexpr double kCountingShare = 0.8;

std::string megabytes(int64_t bytes) {
  return base::format_number(static_cast<double>(bytes) / 1e6, 3) + " MB";
}

Json recipe_identity(const CorpusRecipe& recipe) {
  Json json = base::to_json(recipe);
  json.erase("name");
  return json;
}

Json local_files(const SourceConfig& source) {
  const std::vector<fs::path> files = source_files(source);
  std::vector<std::string> hashes(files.size());
  parallel_for(files.size(), [&](size_t i, size_t) { hashes[i] = base::sha256_of_file(files[i]); });
  Json list = Json::array();
  for (size_t i = 0; i < files.size(); ++i) {
    list.push_back({{"file", files[i].string()}, {"sha256", hashes[i]}});
  }
  return list;
}

/// What the corpus is made from; `package_entry(name)` gives the record of a package.
template <class PackageEntry>
Json describe_sources(const CorpusRecipe& recipe, const PackageEntry& package_entry) {
  Json sources = Json::array();
  for (const SourceConfig& source : recipe.sources) {
    sources.push_back(source.package.empty() ? local_files(source) : package_entry(source.package));
  }
  return {{"format", kFormat}, {"recipe", recipe_identity(recipe)}, {"sources", sources}};
}

/// Depends on contents only, not on where the files lie.
std::string source_fingerprint(const Json& description) {
  Json content = description;
  for (Json& source : content["sources"]) {
    for (Json& file : source) file.erase("file");
  }
  return base::fingerprint(content);
}

Json package_entry_in(const Json& description, const CorpusRecipe& recipe,
                      const std::string& package) {
  for (size_t i = 0; i < recipe.sources.size(); ++i) {
    if (recipe.sources[i].package == package) return description.at("sources").at(i);
  }
  return nullptr;
}

void require_intact(const fs::path& folder, const CorpusManifest& manifest) {
  // Opening a stream checks its shards.
  const TokenStream train(folder, Split::kTrain), validation(folder, Split::kValidation);
  const Tokenizer tokenizer = Tokenizer::load(folder / "tokenizer.json");
  if (tokenizer.fingerprint() != manifest.tokenizer_fingerprint) {
    throw Error((folder / "tokenizer.json").string() + " is not the manifest's tokenizer");
  }
  if (base::sha256_of_file(folder / "validation.text") != manifest.validation_text_sha256) {
    throw Error((folder / "validation.text").string() + " has changed");
  }
  if (!manifest.locked) return;
  const fs::path locked = text_file(folder, Split::kLocked);
  if (base::sha256_of_file(locked) != manifest.locked_text_sha256) {
    throw Error(locked.string() + " has changed");
  }
}

/// The manifest if the folder holds this very corpus already; otherwise says why not.
std::optional<CorpusManifest> finished_corpus(const CorpusRecipe& recipe, const fs::path& folder,
                                              const BuildProgress& progress) {
  if (!fs::exists(folder / "manifest.json") || !fs::exists(folder / "sources.json")) return {};
  try {
    const CorpusManifest manifest = read_manifest(folder);
    const Json recorded = base::read_json(folder / "sources.json");
    if (recorded.at("recipe") != recipe_identity(recipe)) {
      progress("fetch", 0, "the recipe has changed, building again");
      return {};
    }
    const Json current = describe_sources(recipe, [&](const std::string& package) {
      return package_entry_in(recorded, recipe, package);
    });
    if (source_fingerprint(current) != manifest.source_fingerprint) {
      progress("fetch", 0, "the sources have changed, building again");
      return {};
    }
    require_intact(folder, manifest);
    return manifest;
  } catch (const Json::exception& error) {
    progress("fetch", 0, std::string("building again: sources.json: ") + error.what());
  } catch (const base::Interrupted&) {
    throw;
  } catch (const Error& error) {
    progress("fetch", 0, std::string("building again: ") + error.what());
  }
  return {};
}

/// The work folder of this build; what another build left in it is removed.
void prepare_work(const fs::path& work, const Json& description) {
  const fs::path marker = work / "sources.json";
  bool is_ours = false;
  if (fs::exists(marker)) {
    is_ours = source_fingerprint(base::read_json(marker)) == source_fingerprint(description);
  }
  if (!is_ours) {
    fs::remove_all(work);
    base::write_json(marker, description);
  }
  base::remove_leftovers(work);
}

Tokenizer make_tokenizer(const std::vector<Document>& documents, int64_t vocabulary_size,
                         const fs::path& file, const PhaseProgress& progress) {
  if (fs::exists(file)) return Tokenizer::load(file);
  int64_t all_bytes = 0;
  for (const Document& document : documents) {
    all_bytes += static_cast<int64_t>(document.text.size());
  }
  size_t next = 0;
  int64_t bytes = 0;
  const DocumentSource source = [&](std::string_view& document) {
    base::stop_if_interrupted();
    if (next == documents.size()) return false;
    document = documents[next++].text;
    bytes += static_cast<int64_t>(document.size());
    progress(kCountingShare * static_cast<double>(bytes) / static_cast<double>(all_bytes),
             "counting pieces, " + megabytes(bytes));
    return true;
  };
  const Tokenizer tokenizer = train_tokenizer(source, vocabulary_size, [&](double fraction) {
    base::stop_if_interrupted();
    progress(kCountingShare + (1 - kCountingShare) * fraction,
             "merging, " + std::to_string(vocabulary_size) + " tokens");
  });
  tokenizer.save(file);
  return tokenizer;
}

/// Removes the files of an earlier corpus, its manifest first.
void clear_packed(const fs::path& folder) {
  fs::remove(folder / "manifest.json");
  std::vector<fs::path> old;
  std::error_code absent;
  for (const fs::path& place : {folder, folder / kLockedFolder}) {
    for (const auto& entry : fs::directory_iterator(place, absent)) {
      if (entry.path().extension() == ".tokens") old.push_back(entry.path());
    }
  }
  for (const fs::path& file : old) fs::remove(file);
}

/// Returns its hash.
std::string write_text(const std::vector<Document>& documents, const fs::path& folder,
                       Split split) {
  std::string text;
  for (const Document& document : documents) text += document.text;
  base::write_file_atomic(text_file(folder, split), text);
  return base::sha256(text);
}

CorpusManifest pack(const CorpusRecipe& recipe, const SplitPlan& plan, const Tokenizer& tokenizer,
                    const Json& description, const fs::path& folder,
                    const PhaseProgress& progress) {
  clear_packed(folder);
  CorpusManifest manifest;
  manifest.name = recipe.name;
  manifest.source_fingerprint = source_fingerprint(description);
  manifest.tokenizer_fingerprint = tokenizer.fingerprint();
  manifest.vocabulary_size = tokenizer.vocabulary_size();
  manifest.bytes_per_id = bytes_per_id(tokenizer.vocabulary_size());
  tokenizer.save(folder / "tokenizer.json");
  manifest.validation =
      pack_split(plan.validation, tokenizer, recipe, folder, "validation", [](auto&&...) {});
  manifest.train = pack_split(plan.train, tokenizer, recipe, folder, "train", progress);
  manifest.validation_text_sha256 = write_text(plan.validation, folder, Split::kValidation);
  if (!plan.locked.empty()) {
    SplitEntry locked = pack_split(plan.locked, tokenizer, recipe, folder / kLockedFolder,
                                   name_of(Split::kLocked), [](auto&&...) {});
    for (ShardEntry& shard : locked.shards) {
      shard.file = std::string(kLockedFolder) + "/" + shard.file;
    }
    manifest.locked = std::move(locked);
    manifest.locked_text_sha256 = write_text(plan.locked, folder, Split::kLocked);
  }
  base::write_json(folder / "sources.json", description);
  base::write_json(folder / "manifest.json", base::to_json(manifest));
  return manifest;
}

}  // namespace

CorpusManifest build_corpus(const CorpusRecipe& recipe, const fs::path& folder,
                            const fs::path& cache, const BuildProgress& progress) {
  require_valid(recipe, "corpus recipe '" + recipe.name + "'");
  const BuildProgress report =
      progress ? progress : [](const std::string&, double, const std::string&) {};
  const auto phase = [&](const std::string& name) -> PhaseProgress {
    return [&report, name](double fraction, const std::string& detail) {
      report(name, fraction, detail);
    };
  };
  if (auto manifest = finished_corpus(recipe, folder, report)) return *manifest;

  const base::FolderLock lock(folder);
  base::remove_leftovers(folder);
  std::vector<std::string> packages;
  for (const SourceConfig& source : recipe.sources) {
    if (!source.package.empty()) packages.push_back(source.package);
  }
  std::sort(packages.begin(), packages.end());
  packages.erase(std::unique(packages.begin(), packages.end()), packages.end());
  const auto debs = fetch_packages(packages, cache, phase("fetch"));
  const Json description = describe_sources(recipe, [&](const std::string& package) {
    const fs::path& deb = debs.at(package);
    return Json::array(
        {{{"file", deb.filename().string()}, {"sha256", base::sha256_of_file(deb)}}});
  });

  const fs::path work = folder / "work";
  prepare_work(work, description);
  const TextStore store(extract_sources(recipe, debs, work, phase("extract")));
  const SplitPlan plan = plan_splits(store.documents(), recipe);
  const Tokenizer tokenizer = make_tokenizer(plan.train, recipe.vocabulary_size,
                                             work / "tokenizer.json", phase("tokenizer"));
  const CorpusManifest manifest = pack(recipe, plan, tokenizer, description, folder, phase("pack"));
  fs::remove_all(work);
  return manifest;
}

}  // namespace windtunnel::corpus

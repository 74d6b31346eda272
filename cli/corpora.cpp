#include "cli/corpora.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace fs = std::filesystem;

namespace {

fs::path recipe_file(const agent::CorpusSource& source) {
  return fs::exists(source.recipe) ? fs::path(source.recipe) : home() / source.recipe;
}

}  // namespace

fs::path corpus_folder(const agent::CorpusSource& source) {
  if (!source.folder.empty()) return source.folder;
  return home() / ".windtunnel" / "corpora" / fs::path(source.recipe).stem();
}

corpus::CorpusManifest ensure_corpus(const agent::CorpusSource& source, base::Progress& progress) {
  const fs::path folder = corpus_folder(source);
  if (!source.folder.empty()) return corpus::read_manifest(folder);
  return build_with_progress(corpus::read_recipe(recipe_file(source)), folder, progress);
}

corpus::CorpusManifest build_with_progress(const corpus::CorpusRecipe& recipe,
                                           const fs::path& folder, base::Progress& progress) {
  // The build's own phases are shown as one, each with about its share of the time.
  return corpus::build_corpus(
      recipe, folder, cache_folder(),
      [&progress](const std::string& phase, double fraction, const std::string& detail) {
        progress.update(std::nullopt, fmt::format("{} {:.0f} %{}{}", phase, fraction * 100,
                                                  detail.empty() ? "" : ": ", detail));
      });
}

std::string describe(const corpus::CorpusManifest& manifest) {
  const auto bytes = static_cast<double>(manifest.train.bytes + manifest.validation.bytes);
  const int64_t documents = manifest.train.documents + manifest.validation.documents;
  const auto tokens = static_cast<double>(manifest.train.tokens);
  return fmt::format(
      "{:.1f} MB in {} documents, {} training tokens of a {}-token vocabulary, {:.2f} bytes a "
      "token, "
      "{:.0f} kB for validation",
      bytes / 1e6, documents, base::format_count(tokens), manifest.vocabulary_size,
      static_cast<double>(manifest.train.bytes) / std::max(1.0, tokens),
      static_cast<double>(manifest.validation.bytes) / 1e3);
}

}  // namespace windtunnel::cli

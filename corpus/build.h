#pragma once
// From a recipe to a packed corpus: fetch, unpack, extract text, deduplicate, split, tokenize,
// pack.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/config.h"
#include "corpus/packed_corpus.h"

namespace windtunnel::corpus {

/// One source of a recipe.
struct SourceConfig {
  /// A Debian package, fetched with apt and unpacked without installing; or empty for `files`.
  std::string package;
  /// Glob patterns, inside the package or on this machine ("notes/**/*.txt"); a folder stands for
  /// all files below it, and "!pattern" takes files out again.
  std::vector<std::string> files;
  /// How a file becomes text: "plain", "rst", "html", "pod" ...; see corpus/extractors/.
  std::string extractor = "plain";
  /// What kind of text this is; kept per document for reports by domain.
  std::string domain = "text";

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("package", self.package,
          {.help = "Debian package to fetch; empty: files on this machine"});
    visit("files", self.files, {.help = "glob patterns; inside the package if there is one"});
    visit("extractor", self.extractor,
          {.help = "how a file becomes text; windtunnel list extractors"});
    visit("domain", self.domain, {.help = "label for reports by domain"});
  }
};

struct CorpusRecipe {
  std::string name;
  std::vector<SourceConfig> sources;
  int64_t vocabulary_size = 1024;
  /// Share of documents that are held out, chosen by the hash of their text, so that the choice
  /// does not depend on the other documents. At least one document is held out.
  double validation_fraction = 0.02;
  /// At most this many validation bytes are kept (whole documents), 0: no limit. Evaluation reads
  /// all. Held-out documents beyond the limit are in neither split.
  int64_t max_validation_bytes = 400'000;
  /// Share of documents that are locked away, chosen as those for validation are. 0: none. At least
  /// one of three or more different documents is locked.
  double locked_fraction = 0.01;
  /// As max_validation_bytes.
  int64_t max_locked_bytes = 400'000;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "name of the corpus"});
    visit("sources", self.sources, {.help = "where the text comes from"});
    visit("vocabulary_size", self.vocabulary_size,
          {.help = "tokens of the tokenizer, special tokens included",
           .unit = "tokens",
           .minimum = 260,
           .maximum = 1 << 20});
    visit("validation_fraction", self.validation_fraction,
          {.help = "share of documents held out, by document hash",
           .exclusive_minimum = 0,
           .exclusive_maximum = 1});
    visit("max_validation_bytes", self.max_validation_bytes,
          {.help = "limit of the validation text, whole documents; 0: none",
           .unit = "bytes",
           .minimum = 0});
    visit("locked_fraction", self.locked_fraction,
          {.help = "share of documents for a split that is scored only by windtunnel evaluate "
                   "--split locked; 0: none",
           .minimum = 0,
           .exclusive_maximum = 1});
    visit("max_locked_bytes", self.max_locked_bytes,
          {.help = "limit of the locked text, whole documents; 0: none",
           .unit = "bytes",
           .minimum = 0});
  }
};

/// Reads programs/corpora/NAME.yaml (or .json). Errors: ConfigError.
CorpusRecipe read_recipe(const std::filesystem::path& file);

/// The recipe behind --files: text files on this machine, byte for byte.
CorpusRecipe recipe_for_files(std::vector<std::string> patterns);

/// Throws ConfigError(subject, ...) with every rule that the recipe breaks.
void require_valid(const CorpusRecipe& recipe, const std::string& subject);

/// What build_corpus says while it works: a phase ("fetch", "extract", "tokenizer", "pack"), the
/// fraction of that phase, and a detail for people. Never called by two threads at once.
using BuildProgress =
    std::function<void(const std::string& phase, double fraction, const std::string& detail)>;

/// Makes the corpus in `folder`, or returns at once if the same one is there already: the same
/// recipe from the same files. A package that was packed once is not looked up again. Packages are
/// kept under `cache`. Interrupted at any time: the same call continues. Errors: ConfigError for
/// the recipe; Error if apt is missing or fails (says what to do instead), if no source gives text,
/// or if a split would be empty; Interrupted.
CorpusManifest build_corpus(const CorpusRecipe& recipe, const std::filesystem::path& folder,
                            const std::filesystem::path& cache, const BuildProgress& progress = {});

}  // namespace windtunnel::corpus

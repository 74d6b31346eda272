#pragma once
// Where the corpora of programs lie, and making them when they are missing.

#include <filesystem>

#include "agent/program.h"
#include "base/progress.h"
#include "corpus/build.h"

namespace windtunnel::cli {

/// The folder a program's corpus is in, whether or not it is built. Corpora made from a recipe are
/// shared by all studies: .windtunnel/corpora/<name of the recipe file>.
std::filesystem::path corpus_folder(const agent::CorpusSource& source);

/// Builds the corpus if it is missing, or finds it complete and returns at once.
corpus::CorpusManifest ensure_corpus(const agent::CorpusSource& source, base::Progress& progress);

/// Builds `recipe` into `folder` with progress; one builder at a time.
corpus::CorpusManifest build_with_progress(const corpus::CorpusRecipe& recipe,
                                           const std::filesystem::path& folder,
                                           base::Progress& progress);

/// "23.4 MB in 1,234 documents, 9.1M tokens of a 1,024-token vocabulary, 2.57 bytes a token".
std::string describe(const corpus::CorpusManifest& manifest);

}  // namespace windtunnel::cli

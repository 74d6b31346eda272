#pragma once
// From the sources of a recipe to extracted text.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "corpus/build.h"
#include "corpus/debian_package.h"

namespace windtunnel::corpus {

/// Regular files that match a source's patterns; relative patterns start at `root` (empty: the
/// working folder). Sorted, each once.
std::vector<std::filesystem::path> source_files(const SourceConfig& source,
                                                const std::filesystem::path& root = {});

/// Extracts each source into work/source-<index>, those that are not there yet; returns the
/// folders. Errors: Error naming the source that gives no text.
std::vector<std::filesystem::path> extract_sources(
    const CorpusRecipe& recipe, const std::map<std::string, std::filesystem::path>& debs,
    const std::filesystem::path& work, const PhaseProgress& progress);

}  // namespace windtunnel::corpus

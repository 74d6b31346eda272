#pragma once
// Compressed sources.

#include <filesystem>
#include <string>

namespace windtunnel::corpus {

/// The content of a file; a name that ends in .gz or .dz (dictzip) and content that starts as gzip
/// does is inflated. Errors: Error naming a file that cannot be read or is cut short.
std::string read_source_file(const std::filesystem::path& file);

}  // namespace windtunnel::corpus

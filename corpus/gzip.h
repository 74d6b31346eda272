#pragma once
// Compressed sources, and how far a text can be compressed.

#include <filesystem>
#include <string>

namespace windtunnel::corpus {

/// The content of a file; a name that ends in .gz or .dz (dictzip) and content that starts as gzip
/// does is inflated. Errors: Error naming a file that cannot be read or is cut short.
std::string read_source_file(const std::filesystem::path& file);

/// Bits per byte that deflate at its best needs for a file, by its first 4 MiB.
/// Errors: Error if the file cannot be read or is empty.
double deflated_bits_per_byte(const std::filesystem::path& file);

}  // namespace windtunnel::corpus

#pragma once
// Content hashes: what a record was made from is bound to it by SHA-256.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"

namespace windtunnel::base {

/// SHA-256 as 64 lower-case hex digits.
std::string sha256(std::string_view bytes);

/// HMAC-SHA256 of a text under a key, as 64 lower-case hex digits (RFC 2104).
std::string hmac_sha256(std::string_view key, std::string_view text);

/// SHA-256 of a file's content, read in blocks. Errors: Error naming the file.
std::string sha256_of_file(const std::filesystem::path& file);

/// SHA-256 of the canonical form: keys sorted, no spaces, numbers that are equal print equally
/// (1.0 and 1 are the same number).
std::string fingerprint(const Json& value);

/// The first 12 digits: enough for names and tables.
inline std::string short_fingerprint(const std::string& hash) { return hash.substr(0, 12); }

}  // namespace windtunnel::base

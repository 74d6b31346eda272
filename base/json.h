#pragma once
// JSON as used everywhere: keys sorted, so that printing is canonical. Missing is null, never 0.
// A non-finite number is stored as the string "NaN", "Infinity" or "-Infinity", because JSON has no
// such numbers and null already means "not measured".

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

// Compiled in json.cpp alone: in every file that uses it, it costs a second.
extern template class nlohmann::basic_json<>;

namespace windtunnel::base {

using Json = nlohmann::json;

/// The stored form of a number; see the file comment.
Json encode_number(double value);
inline Json encode_number(const std::optional<double>& value) {
  return value ? encode_number(*value) : Json(nullptr);
}

/// The reverse of encode_number; nullopt for null or an absent key.
/// Errors: Error if the value is neither a number, null nor one of the three strings.
std::optional<double> decode_number(const Json& value);

/// Reads and parses a file. Errors: Error naming the file and the position of the first mistake.
Json read_json(const std::filesystem::path& file);

/// Parses text that came from outside; `subject` names it in the error.
Json parse_json(std::string_view text, const std::string& subject);

/// Writes atomically (see files.h), indented by two.
void write_json(const std::filesystem::path& file, const Json& value);

/// The value at "a.b.c", or nullptr if any part is absent.
const Json* find_path(const Json& document, std::string_view dotted_path);

/// Sets the value at "a.b.c", making the objects on the way.
void set_path(Json& document, std::string_view dotted_path, Json value);

/// Applies "a.b=value"; the value is read as JSON where it parses as JSON and as a string
/// otherwise. Errors: UsageError if there is no '=' or no path before it.
void apply_override(Json& document, const std::string& assignment);

/// Applies a patch, an object of dotted path -> new value, and returns the result.
Json apply_patch(Json document, const Json& patch);

/// The patch that turns `from` into `to`, leaf by leaf; a leaf that disappears becomes null.
Json difference(const Json& from, const Json& to);

/// Lays `over` on `under`: objects merge key by key, everything else replaces.
Json merge(Json under, const Json& over);

}  // namespace windtunnel::base

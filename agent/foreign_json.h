#pragma once
// JSON and text from servers that promise nothing: whatever the types, reading never throws.

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace windtunnel::agent {

/// Parsed, or discarded: also where brackets are nested so deep that walking the value would end
/// the stack.
base::Json parse_foreign(std::string_view text);

/// The string at a key, "" if there is none.
std::string text_at(const base::Json& object, const char* key);

/// The value at a key, or null, whatever `object` is.
const base::Json& value_at(const base::Json& object, const char* key);

/// The first of an array, or null.
const base::Json& first_of(const base::Json& array);

/// A count at a dotted path; nullopt if it is no integer >= 0.
std::optional<int64_t> count_at(const base::Json& object, const char* path);

/// Valid UTF-8 on one line, of bounded length, without keys: what a server sends ends up in the
/// journal and on terminals.
std::string clean_line(std::string_view text);

/// Printed, with what is not UTF-8 replaced.
std::string print_foreign(const base::Json& value);

}  // namespace windtunnel::agent

#pragma once
// The one place that knows the secrets of this process, such as the API key of a language model.
// Whatever leaves the process goes through redact(): journal, files for people, logs, console; and
// no child inherits a variable that holds one. Process-wide, because a sink that had to be handed
// the secrets could be built without them; there is no switch that turns it off.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace windtunnel::base {

/// What stands where a secret stood.
inline constexpr const char* kRedacted = "[key]";

/// The trimmed value of an environment variable, "" if it is not set or `variable` is "".
///
/// State:   from now on the value is redacted and no child process inherits the variable.
std::string secret_from_environment(const std::string& variable);

/// The trimmed text of a file.
///
/// State:   from now on the text is redacted.
/// Errors:  Error naming the file if it cannot be read or is empty.
std::string secret_from_file(const std::filesystem::path& file);

/// `text` without the secrets that were read: each as it is, escaped as JSON, percent-encoded, or
/// as base64 at any place of a longer text. Values below eight bytes are placeholders such as
/// "none" and stay.
std::string redact(std::string text);

/// The same for every string in `value`, keys of objects too. Numbers stay, so that it remains
/// JSON.
Json redact(const Json& value);

/// For text that a server sent: also without what looks like a key, whoever it belongs to ("Bearer
/// ...", "sk-...").
std::string redact_tokens(std::string text);

/// Environment variables that no child process inherits.
std::vector<std::string> secret_variables();

}  // namespace windtunnel::base

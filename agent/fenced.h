#pragma once
// JSON on its way into a prompt and out of an answer.

#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"

namespace windtunnel::agent {

/// JSON that cannot close the fence around it.
std::string fenced_json(const base::Json& value);

/// The one JSON object in an answer: bare, or the only fenced block, with or without a <think> part
/// before it; or what is wrong with the answer.
std::variant<base::Json, std::string> object_in(std::string_view answer);

}  // namespace windtunnel::agent

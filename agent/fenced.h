#pragma once
// JSON on its way into a prompt and out of an answer.

#include <string>
#include <string_view>

#include "base/json.h"

namespace windtunnel::agent {

/// JSON that cannot close the fence around it.
std::string fenced_json(const base::Json& value);

/// The JSON text in an answer: bare, or the only fenced block, with or without a <think> part
/// before it; "" if there is neither.
std::string json_in(std::string_view answer);

}  // namespace windtunnel::agent

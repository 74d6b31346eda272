#include "agent/chat_options.h"

#include <algorithm>

#include "agent/dialect.h"
#include "agent/http.h"
#include "base/error.h"
#include "base/secrets.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;
using base::Problem;

std::vector<Problem> chat_option_problems(const ChatOptions& options) {
  std::vector<Problem> problems;
  if (!options.endpoint.empty()) {
    const std::string rule = url_problem(options.endpoint);
    if (!rule.empty()) problems.push_back({"endpoint", Json(options.endpoint).dump(), rule});
  }
  if (options.api != "auto" && !Dialects::instance().find(options.api)) {
    problems.push_back(
        {"api", Json(options.api).dump(),
         "must be auto or one of " + base::join(Dialects::instance().names(), ", ")});
  }
  if (options.dollars_per_million_prompt_tokens.has_value() !=
      options.dollars_per_million_completion_tokens.has_value()) {
    problems.push_back({"dollars_per_million_prompt_tokens", "without its pair",
                        "must be given together with dollars_per_million_completion_tokens"});
  }
  return problems;
}

std::string read_key(const ChatOptions& options) {
  std::string key = base::secret_from_environment(options.key_variable);
  const bool from_file = key.empty() && !options.key_file.empty();
  if (from_file) key = base::secret_from_file(options.key_file);
  const auto is_control = [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; };
  if (std::any_of(key.begin(), key.end(), is_control)) {
    throw base::ConfigError("language model", {{from_file ? "key_file" : "key_variable",
                                                from_file ? options.key_file : options.key_variable,
                                                "holds a key with control characters"}});
  }
  return key;
}

void protect_keys(const std::vector<Json>& proposers) {
  for (const Json& proposer : proposers) {
    if (!proposer.is_object()) continue;
    ChatOptions options;
    options.key_variable = proposer.value("key_variable", "");
    options.key_file = proposer.value("key_file", "");
    if (!options.key_variable.empty() || !options.key_file.empty()) read_key(options);
  }
}

}  // namespace windtunnel::agent

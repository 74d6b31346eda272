#include "agent/chat_address.h"

#include <cstdlib>

#include "agent/http.h"
#include "base/error.h"

namespace windtunnel::agent {

namespace {

void take(std::string& value, const std::string& variable) {
  const char* there = variable.empty() ? nullptr : std::getenv(variable.c_str());
  if (there && *there) value = there;
  if (value.empty()) {
    throw base::Error("the environment variable " + variable +
                      " is not set: it says where the language model is, or its name");
  }
}

}  // namespace

std::vector<base::Problem> ChatAddress::problems() const {
  std::vector<base::Problem> problems;
  if (chat.endpoint.empty() && endpoint_variable.empty()) {
    problems.push_back({"endpoint", "\"\"", "must be given, or endpoint_variable"});
  }
  if (!chat.endpoint.empty()) {
    if (const std::string rule = url_problem(chat.endpoint); !rule.empty()) {
      problems.push_back({"endpoint", base::Json(chat.endpoint).dump(), rule});
    }
  }
  if (chat.model.empty() && model_variable.empty()) {
    problems.push_back({"model", "\"\"", "must be given, or model_variable"});
  }
  return problems;
}

ChatOptions ChatAddress::resolved() const {
  ChatOptions options = chat;
  take(options.endpoint, endpoint_variable);
  take(options.model, model_variable);
  return options;
}

}  // namespace windtunnel::agent

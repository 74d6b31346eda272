#include "agent/chat_address.h"

#include <cstdlib>

#include "base/error.h"

namespace windtunnel::agent {

namespace {

std::string from_environment(const std::string& variable, const std::string& otherwise) {
  const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  return value && *value ? value : otherwise;
}

}  // namespace

std::vector<base::Problem> ChatAddress::problems() const {
  std::vector<base::Problem> problems = chat_option_problems(chat);
  if (chat.endpoint.empty() && endpoint_variable.empty()) {
    problems.push_back({"endpoint", "\"\"", "must be given, or endpoint_variable"});
  }
  if (chat.model.empty() && model_variable.empty()) {
    problems.push_back({"model", "\"\"", "must be given, or model_variable"});
  }
  return problems;
}

std::string ChatAddress::missing() const {
  if (from_environment(endpoint_variable, chat.endpoint).empty()) return endpoint_variable;
  if (from_environment(model_variable, chat.model).empty()) return model_variable;
  return "";
}

ChatOptions ChatAddress::resolved() const {
  if (const std::string variable = missing(); !variable.empty()) {
    throw base::Error("the environment variable " + variable +
                      " is not set: it says where the language model is, or its name");
  }
  ChatOptions options = chat;
  options.endpoint = from_environment(endpoint_variable, chat.endpoint);
  options.model = from_environment(model_variable, chat.model);
  const std::vector<base::Problem> problems = chat_option_problems(options);
  if (!problems.empty()) throw base::ConfigError("language model", problems);
  return options;
}

}  // namespace windtunnel::agent

#pragma once
// Where a language model is, as a program says it: in the front matter or in the environment.

#include <string>
#include <vector>

#include "agent/chat_options.h"

namespace windtunnel::agent {

struct ChatAddress {
  ChatOptions chat;
  std::string endpoint_variable;
  std::string model_variable;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    ChatOptions::describe(self.chat, visit);
    visit("endpoint_variable", self.endpoint_variable,
          {.help = "environment variable that replaces the endpoint"});
    visit("model_variable", self.model_variable,
          {.help = "environment variable that replaces the model"});
  }

  /// Rules beyond the schema: an endpoint and a model, or their variables.
  std::vector<base::Problem> problems() const;

  /// The variable without which there is no endpoint or no model; "" if both are known.
  std::string missing() const;
  /// With what the environment says. Errors: Error naming the variable that is not set; ConfigError
  /// if what it says is illegal.
  ChatOptions resolved() const;
};

}  // namespace windtunnel::agent

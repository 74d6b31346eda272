#pragma once
// A question whose answer has to be one JSON object of one form: read strictly, with one repair
// turn that shows what is wrong.

#include <functional>
#include <string>
#include <vector>

#include "agent/chat_client.h"
#include "agent/proposer.h"

namespace windtunnel::agent {

struct StrictAnswer {
  /// Of the last reply (chat_outcome), "repaired", or "unusable" where even the second answer was
  /// not of the form.
  std::string outcome;
  /// One sentence about what went wrong.
  std::string message;
  bool is_taken = false;
  /// The model answered, but not usably: another question may fare better.
  bool is_unusable = false;
};

class StrictModel {
 public:
  StrictModel(const ChatOptions& options, const ProposerServices& services)
      : options_(options), services_(services) {}

  /// `take` reads the answer and returns everything that is wrong with it; nothing: it was taken.
  /// Each request is in the record of calls; where dollars are limited, it is not made without
  /// them.
  ///
  /// Errors: Interrupted if a stop was asked for.
  StrictAnswer ask(const std::string& purpose, std::vector<ChatMessage> messages,
                   const base::Json& schema,
                   const std::function<std::vector<std::string>(const base::Json&)>& take);

 private:
  /// Makes the client with what is known about the model, or what a probe finds; why it could not.
  std::string open();
  void log(const std::string& purpose, const ChatReply& reply, const std::string& outcome,
           const std::string& message) const;

  ChatOptions options_;
  std::optional<ChatClient> client_;
  const ProposerServices& services_;
};

}  // namespace windtunnel::agent

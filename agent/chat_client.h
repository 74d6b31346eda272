#pragma once
// One question, one answer, in whatever dialect the server speaks: one outer deadline, one retry
// layer, and a typed outcome instead of an exception.

#include <optional>
#include <string>
#include <vector>

#include "agent/chat.h"
#include "agent/chat_hooks.h"
#include "agent/chat_options.h"
#include "agent/dialect.h"
#include "agent/model_profile.h"
#include "agent/server_failure.h"
#include "base/random.h"

namespace windtunnel::agent {

class ChatClient {
 public:
  /// Reads the key. Without a profile, `api: auto` means chat completions, and nothing is streamed.
  /// Errors: ConfigError if the options are illegal or the key holds control characters.
  explicit ChatClient(const ChatOptions& options, const ModelProfile& profile = {},
                      ChatHooks hooks = {});

  /// Asks once, with retries. With a schema, asks for JSON of that form where the server can; the
  /// caller checks the content all the same. What the server does not know is given up from then
  /// on: the next way to hold it to a schema, another name of the limit, an extra field.
  ///
  /// Errors: Interrupted if a stop was asked for.
  ChatReply ask(const std::vector<ChatMessage>& messages, const base::Json& schema = nullptr);

  /// From now on answers have at most so many tokens.
  void limit_completion(int64_t tokens) { options_.max_completion_tokens = tokens; }
  /// How answers are held to a schema (chat.h), and the name of the limit of tokens ("": none),
  /// after what was given up.
  std::string structured_form() const;
  std::string token_limit() const;

 private:
  /// One request, its outcome in `reply`; tells whether another may help, and when.
  struct Attempt {
    bool may_retry = false;
    bool adapted = false;
    std::optional<double> asked_wait_seconds;
  };
  Attempt attempt(const Question& question, double seconds_left, ChatReply& reply);
  void read_reply(const HttpReply& http, const base::Json& body, ChatReply& reply);
  Attempt failed(ServerFailure failure, const HttpReply& http, const base::Json& body,
                 ChatReply& reply);
  bool give_up_what_is_refused(const std::string& complaint, const base::Json& request);
  Question question(const std::vector<ChatMessage>& messages, const base::Json& schema) const;
  WorstCase worst_case(const Question& question) const;
  void settle(const WorstCase& reserved, const HttpReply& http, ChatReply& reply) const;
  void wait(double seconds, double start);

  ChatOptions options_;
  ChatHooks hooks_;
  std::string key_;
  const Dialect& dialect_;
  /// What is still worth trying, the best first; empty: none.
  std::vector<std::string> structured_;
  std::vector<std::string> token_limits_;
  bool stream_ = false;
  bool stream_usage_ = true;
  base::RandomStream jitter_;
};

}  // namespace windtunnel::agent

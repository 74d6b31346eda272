#pragma once
// OpenAI's chat completions, as OpenAI, llama.cpp, vLLM and Ollama serve them: one question, one
// answer, one outer deadline, one retry layer, and a typed outcome instead of an exception.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"

namespace windtunnel::agent {

struct ChatOptions {
  /// Up to and including the version, e.g. "http://127.0.0.1:8080/v1".
  std::string endpoint;
  std::string model;
  /// Environment variable that holds the key; empty: none is sent.
  std::string key_variable;
  /// Outer deadline of one question, all retries and waits included.
  double timeout_seconds = 120;
  double connect_timeout_seconds = 5;
  int64_t max_attempts = 4;
  /// A server that asks to wait longer is not asked again.
  double max_retry_wait_seconds = 60;
  int64_t max_completion_tokens = 4096;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("endpoint", self.endpoint,
          {.help = "base address of an OpenAI-compatible server, e.g. http://127.0.0.1:8080/v1"});
    visit("model", self.model, {.help = "name the server knows the model by"});
    visit("key_variable", self.key_variable,
          {.help = "environment variable that holds the API key; the key itself is never stored"});
    visit("timeout_seconds", self.timeout_seconds,
          {.help = "deadline of one question, retries included",
           .unit = "seconds",
           .exclusive_minimum = 0,
           .maximum = 3600});
    visit("connect_timeout_seconds", self.connect_timeout_seconds,
          {.help = "of one connection", .unit = "seconds", .exclusive_minimum = 0, .maximum = 600});
    visit("max_attempts", self.max_attempts,
          {.help = "requests for one question", .minimum = 1, .maximum = 20});
    visit("max_retry_wait_seconds", self.max_retry_wait_seconds,
          {.help = "longest Retry-After that is waited for",
           .unit = "seconds",
           .minimum = 0,
           .maximum = 3600});
    visit("max_completion_tokens", self.max_completion_tokens,
          {.help = "of one answer, reasoning included", .unit = "tokens", .minimum = 16});
  }
};

/// How a question ended. Stored by name (LlmCall::outcome).
namespace chat_outcome {
inline constexpr const char* kOk = "ok";
/// No connection, or it broke.
inline constexpr const char* kDown = "down";
/// The deadline passed.
inline constexpr const char* kSlow = "slow";
/// 429 until the attempts, or the patience with Retry-After, were used up.
inline constexpr const char* kRateLimited = "rate_limited";
/// 429 or 402 that waiting does not cure: quota, credit, spending limit.
inline constexpr const char* kOutOfMoney = "out_of_money";
/// 5xx until the attempts were used up.
inline constexpr const char* kServerError = "server_error";
/// Any other 4xx, a redirect: asking again would not help.
inline constexpr const char* kRejected = "rejected";
/// 200 with a web page.
inline constexpr const char* kHtml = "html";
/// 200 with something that is no chat completion.
inline constexpr const char* kMalformed = "malformed";
/// 200 with no text in it.
inline constexpr const char* kEmpty = "empty";
/// Cut at max_completion_tokens (finish_reason "length").
inline constexpr const char* kTruncated = "truncated";
/// The model or its filter refused to answer.
inline constexpr const char* kRefusal = "refusal";
}  // namespace chat_outcome

struct ChatMessage {
  /// "system", "user" or "assistant".
  std::string role;
  std::string content;
};

struct ChatReply {
  std::string outcome = chat_outcome::kDown;
  /// The model's text; only with kOk.
  std::string content;
  /// One sentence about what went wrong; "" with kOk. Never holds the key.
  std::string message;
  std::optional<int64_t> prompt_tokens;
  std::optional<int64_t> completion_tokens;
  int64_t attempts = 0;
  double seconds = 0;
  /// The last request's body and the last reply, for the journal, without the key. A reply that is
  /// no JSON is a string, bounded.
  base::Json request;
  base::Json reply;

  bool ok() const { return outcome == chat_outcome::kOk; }
};

class ChatClient {
 public:
  /// Reads the key from the environment and keeps the variable from child processes.
  /// Errors: ConfigError if the endpoint is no http(s) address or the key holds control characters.
  explicit ChatClient(const ChatOptions& options);

  /// Asks once, with retries. With a schema, asks for JSON of that form where the server can; the
  /// caller checks the content all the same. A parameter that the server does not know is left out
  /// from then on.
  /// Errors: Interrupted if a stop was asked for.
  ChatReply ask(const std::vector<ChatMessage>& messages, const base::Json& schema = nullptr);

  /// `text` with every occurrence of the key replaced by "[key]".
  std::string redact(std::string text) const;

 private:
  base::Json body(const std::vector<ChatMessage>& messages, const base::Json& schema) const;
  bool drop_unknown_parameter(const std::string& complaint, const base::Json& body);

  ChatOptions options_;
  std::string key_;
  std::vector<std::string> dropped_parameters_;
};

/// The wait a server asks for: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date
/// relative to `now`; nullopt if there is none or it does not parse.
std::optional<double> retry_after_seconds(const std::string& retry_after_ms,
                                          const std::string& retry_after,
                                          std::chrono::system_clock::time_point now);

}  // namespace windtunnel::agent

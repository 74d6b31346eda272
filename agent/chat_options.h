#pragma once
// Where a language model is, and how patiently it is asked.

#include <optional>
#include <string>
#include <vector>

#include "base/config.h"

namespace windtunnel::agent {

struct ChatOptions {
  /// Up to and including the version, e.g. "http://127.0.0.1:8080/v1".
  std::string endpoint;
  std::string model;
  /// A dialect (dialect.h), or "auto": the one that the model's profile names.
  std::string api = "auto";
  /// Environment variable that holds the key; the file is read where it is not set. Neither: no key
  /// is sent.
  std::string key_variable;
  std::string key_file;
  /// Outer deadline of one question, all retries and waits included.
  double timeout_seconds = 120;
  double connect_timeout_seconds = 5;
  /// Between two pieces of a stream. A model that thinks in silence sends nothing for a while.
  double idle_timeout_seconds = 60;
  int64_t max_attempts = 4;
  /// A server that asks to wait longer is not asked again within the same question.
  double max_retry_wait_seconds = 60;
  int64_t max_completion_tokens = 4096;
  std::string streaming = "auto";
  std::string structured = "auto";
  /// Fields of the request beside ours, e.g. {"temperature": 0.7, "reasoning_effort": "low"}.
  base::Json extra = base::Json::object();
  std::optional<double> dollars_per_million_prompt_tokens;
  std::optional<double> dollars_per_million_completion_tokens;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("endpoint", self.endpoint,
          {.help = "base address of the server, version included, e.g. http://127.0.0.1:8080/v1"});
    visit("model", self.model, {.help = "name the server knows the model by"});
    visit("api", self.api,
          {.help = "how it is spoken to: chat_completions, responses, messages, or auto: what a "
                   "probe finds"});
    visit("key_variable", self.key_variable,
          {.help = "environment variable that holds the API key; the key itself is never stored"});
    visit("key_file", self.key_file,
          {.help = "file that holds the API key, read where the variable is not set"});
    visit("timeout_seconds", self.timeout_seconds,
          {.help = "deadline of one question, retries included",
           .unit = "seconds",
           .exclusive_minimum = 0,
           .maximum = 3600});
    visit("connect_timeout_seconds", self.connect_timeout_seconds,
          {.help = "of one connection", .unit = "seconds", .exclusive_minimum = 0, .maximum = 600});
    visit("idle_timeout_seconds", self.idle_timeout_seconds,
          {.help = "longest pause within a stream",
           .unit = "seconds",
           .exclusive_minimum = 0,
           .maximum = 3600});
    visit("max_attempts", self.max_attempts,
          {.help = "requests for one question", .minimum = 1, .maximum = 20});
    visit("max_retry_wait_seconds", self.max_retry_wait_seconds,
          {.help = "longest Retry-After that is waited for within a question",
           .unit = "seconds",
           .minimum = 0,
           .maximum = 3600});
    visit("max_completion_tokens", self.max_completion_tokens,
          {.help = "of one answer, reasoning included", .unit = "tokens", .minimum = 16});
    visit("streaming", self.streaming,
          {.help = "whether the answer comes in pieces; auto: where a probe saw it work",
           .choices = {"auto", "on", "off"}});
    visit("structured", self.structured,
          {.help = "how the server is held to the form of the answer; auto: the best that works",
           .choices = {"auto", "json_schema", "tools", "json_object", "none"}});
    visit("extra", self.extra,
          {.help = "fields of the request beside ours, e.g. {temperature: 0.7}",
           .schema = {{"type", "object"}}});
    visit("dollars_per_million_prompt_tokens", self.dollars_per_million_prompt_tokens,
          {.help = "price of the question; without prices a call's cost is unknown", .minimum = 0});
    visit("dollars_per_million_completion_tokens", self.dollars_per_million_completion_tokens,
          {.help = "price of the answer", .minimum = 0});
  }
};

/// Rules beyond the schema: the address, the dialect's name, prices that come in pairs.
std::vector<base::Problem> chat_option_problems(const ChatOptions& options);

/// The key, from its variable or its file; "" if neither is there.
///
/// State:   the key is a secret from now on (base/secrets.h).
/// Errors:  ConfigError if it holds control characters; Error if the file cannot be read.
std::string read_key(const ChatOptions& options);

/// Makes secrets of all keys that a list of proposers names, before any child process starts.
void protect_keys(const std::vector<base::Json>& proposers);

}  // namespace windtunnel::agent

#pragma once
// What a server can really do for one model, found out by asking it: kept in the study, so that
// every turn uses it.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/chat.h"
#include "agent/chat_hooks.h"
#include "agent/chat_options.h"

namespace windtunnel::agent {

struct ModelProfile {
  std::string endpoint;
  std::string model;
  /// Name of the dialect; "" if none works.
  std::string api;
  /// "llama.cpp", "vLLM", "Ollama", "OpenAI", "Anthropic", or "unknown".
  std::string server = "unknown";
  bool streaming = false;
  /// What holds an answer to a schema (chat.h), seen to do so.
  std::string structured = structured::kNone;
  /// The name under which the limit of tokens is respected; "" if none is.
  std::string token_limit;
  bool reports_usage = false;
  bool reports_usage_in_streams = false;
  /// Null if the server does not tell it.
  std::optional<int64_t> context_tokens;
  std::string probed_at;
  /// How the question ended that decided about the api (chat.h), and why there is none, in one
  /// sentence.
  std::string outcome;
  std::string problem;

  bool works() const { return !api.empty(); }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("endpoint", self.endpoint, {.help = "address"});
    visit("model", self.model, {.help = "name the server knows the model by"});
    visit("api", self.api, {.help = "dialect that works; empty: none does"});
    visit("server", self.server, {.help = "kind of server, as far as it shows"});
    visit("streaming", self.streaming, {.help = "answers come in pieces"});
    visit("structured", self.structured, {.help = "what holds an answer to a schema"});
    visit("token_limit", self.token_limit, {.help = "name under which the limit is respected"});
    visit("reports_usage", self.reports_usage, {.help = "tokens are counted"});
    visit("reports_usage_in_streams", self.reports_usage_in_streams,
          {.help = "tokens are counted in streams too"});
    visit("context_tokens", self.context_tokens, {.help = "question and answer together"});
    visit("probed_at", self.probed_at, {.help = "UTC"});
    visit("outcome", self.outcome, {.help = "of the question that decided about the api"});
    visit("problem", self.problem, {.help = "why nothing works"});
  }
};

/// The fact of a study that holds the profiles of its models, by profile_key.
inline constexpr const char* kProfilesFact = "language_models";
std::string profile_key(const ChatOptions& options);

/// What a probe asked, for the journal; `what` says which of its questions it was.
using ProbeListener = std::function<void(const std::string& what, const ChatReply& reply)>;

/// Finds out by some ten short questions. Never throws for what a server does: a profile without
/// api says why.
///
/// Cost:    at most `options.timeout_seconds` for each question; a server that is down costs one.
/// Errors:  ConfigError if the options are illegal; Interrupted if a stop was asked for.
ModelProfile probe_model(const ChatOptions& options, const ChatHooks& hooks = {},
                         const ProbeListener& listener = {});

}  // namespace windtunnel::agent

#pragma once
// The contract of a dialect: how one question is put to a server, and how its reply is read. One
// file each in agent/dialects/, registered at its bottom.
//
// What a reply says counts, its flags do not: an answer is there if there is text, a tool was
// called if there are arguments, whatever `finish_reason` claims.

#include <string>
#include <vector>

#include "agent/chat.h"
#include "agent/event_stream.h"
#include "base/registry.h"

namespace windtunnel::agent {

struct Question {
  std::string model;
  std::vector<ChatMessage> messages;
  /// JSON Schema of the answer; null: free text.
  base::Json schema = nullptr;
  /// How the server is held to it (chat.h).
  std::string structured = structured::kNone;
  bool stream = false;
  /// Ask for the tokens of a stream where that is an option.
  bool stream_usage = true;
  int64_t max_completion_tokens = 4096;
  /// The name under which the server knows that limit, one of Dialect::token_limits; "": none.
  std::string token_limit;
};

enum class StreamStep {
  kMore,
  /// The end mark: nothing that matters follows.
  kEnd,
  /// The event reports an error, which is now the reply's "error".
  kError,
  /// The event is no JSON.
  kTorn
};

struct Dialect {
  /// Behind the endpoint: "/chat/completions".
  std::string path;
  /// Besides those of every JSON request; `key` may be "".
  std::vector<std::string> (*headers)(const std::string& key);
  /// The body of the request.
  base::Json (*body)(const Question& question);
  /// Reads a whole reply into outcome, content, message, finish and tokens. Never throws, whatever
  /// the types are.
  void (*read)(const base::Json& body, ChatReply& reply);
  /// Adds an event to the reply that the same question would have got without streaming, so that
  /// both are read by `read`. `so_far` is null at first.
  StreamStep (*fold)(const base::Json& event, const std::string& name, base::Json& so_far);
  /// Ways to hold an answer to a schema, the best first; after them: none.
  std::vector<std::string> structured;
  /// Names of the limit of tokens, the best first; after them: none, unless it is required.
  std::vector<std::string> token_limits;
  bool needs_token_limit = false;
};

using Dialects = base::Registry<Dialect>;

/// The name and description that a schema travels under.
inline constexpr const char* kSchemaName = "answer";
inline constexpr const char* kSchemaWords = "the answer";

/// Adds one event to a stream: what is no JSON is torn, "[DONE]" ends it.
StreamStep fold_event(const Dialect& dialect, const StreamEvent& event, base::Json& so_far);

/// Ends the reading of a whole reply by what it holds: `content` (the text, or the arguments of a
/// tool), `refusal` (the model's or the filter's words, "" if none), and whether the server says
/// that the limit of tokens ended it.
void conclude(ChatReply& reply, std::string content, const std::string& refusal, bool hit_limit,
              size_t reasoning_bytes);

}  // namespace windtunnel::agent

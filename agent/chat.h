#pragma once
// What a language model is asked and what comes of it, in the form of no particular server.

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace windtunnel::agent {

/// How a question ended. Stored by name (LlmCall::outcome).
namespace chat_outcome {
inline constexpr const char* kOk = "ok";
/// No connection.
inline constexpr const char* kDown = "down";
/// The connection, or a stream without its end mark, ended in the middle of an answer.
inline constexpr const char* kBroken = "broken";
/// The outer deadline passed.
inline constexpr const char* kSlow = "slow";
/// Nothing came for the idle limit, although the deadline was still far.
inline constexpr const char* kStalled = "stalled";
/// 429 until the attempts, or the patience with Retry-After, were used up.
inline constexpr const char* kRateLimited = "rate_limited";
/// 529 or 503, or an error event that says so, likewise.
inline constexpr const char* kOverloaded = "overloaded";
/// Quota, credit, spending limit: waiting does not cure it, whatever the status.
inline constexpr const char* kOutOfMoney = "out_of_money";
/// Our own budget does not allow the worst case of the call; nothing was sent.
inline constexpr const char* kNoBudget = "no_budget";
/// Any other 5xx, or error event, until the attempts were used up.
inline constexpr const char* kServerError = "server_error";
/// Any other 4xx, a redirect: asking again would not help.
inline constexpr const char* kRejected = "rejected";
/// The question does not fit into the model's context.
inline constexpr const char* kTooLong = "too_long";
/// 200 with a web page.
inline constexpr const char* kHtml = "html";
/// 200 with something that is no answer of the dialect.
inline constexpr const char* kMalformed = "malformed";
/// 200 with no text in it.
inline constexpr const char* kEmpty = "empty";
/// Cut at the limit of tokens.
inline constexpr const char* kTruncated = "truncated";
/// The model or its filter refused to answer.
inline constexpr const char* kRefusal = "refusal";
}  // namespace chat_outcome

/// How a server can be held to a JSON Schema. Stored by name (ModelProfile::structured).
namespace structured {
/// The answer is held to the schema.
inline constexpr const char* kSchema = "json_schema";
/// The arguments of the one tool that must be called are held to the schema.
inline constexpr const char* kTools = "tools";
/// The answer is held to JSON, not to the schema.
inline constexpr const char* kObject = "json_object";
inline constexpr const char* kNone = "none";
}  // namespace structured

struct ChatMessage {
  /// "system", "user" or "assistant".
  std::string role;
  std::string content;
};

struct ChatReply {
  std::string outcome = chat_outcome::kDown;
  /// The model's text, with kOk and kTruncated; the arguments of the tool where one was called.
  std::string content;
  /// One sentence about what went wrong; "" with kOk. Never holds the key.
  std::string message;
  /// The server's word for why it stopped; "" if it gave none. Never relied upon alone.
  std::string finish;
  /// Of the whole question and answer, cached and reasoning tokens included; of the last attempt.
  std::optional<int64_t> prompt_tokens;
  std::optional<int64_t> completion_tokens;
  /// The server read far fewer tokens than the question has: it cut the question in silence.
  bool prompt_was_cut = false;
  /// The model's context, where an error told it.
  std::optional<int64_t> context_tokens;
  /// With kRateLimited and kOverloaded: how long to leave the server alone.
  std::optional<double> retry_after_seconds;
  /// Of all attempts: what they cost, or at most could have where no usage came. Null without
  /// prices.
  std::optional<double> dollars;
  int64_t attempts = 0;
  /// The answer came in pieces.
  bool streamed = false;
  /// One sentence for each attempt that was followed by another.
  std::vector<std::string> failed_attempts;
  double seconds = 0;
  /// The last request's body and the last reply, for the journal, without the key. A reply that is
  /// no JSON is a string, bounded; a stream is stored as the reply it adds up to.
  base::Json request;
  base::Json reply;

  bool ok() const { return outcome == chat_outcome::kOk; }
  /// Whether `content` may be an answer: one that was cut off may be complete all the same.
  bool has_answer() const { return ok() || outcome == chat_outcome::kTruncated; }
};

}  // namespace windtunnel::agent

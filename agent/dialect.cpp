#include "agent/dialect.h"

#include "agent/foreign_json.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;

StreamStep fold_event(const Dialect& dialect, const StreamEvent& event, Json& so_far) {
  if (base::trim(event.data) == "[DONE]") return StreamStep::kEnd;
  const Json json = parse_foreign(event.data);
  if (json.is_discarded()) return StreamStep::kTorn;
  // Chat servers report an error in the object, Anthropic and the Responses API by the type.
  const Json& error = value_at(json, "error");
  const bool is_error = !error.is_null() || event.name == "error" ||
                        text_at(json, "type") == "error" || text_at(json, "object") == "error";
  if (is_error) {
    so_far = Json{{"error", error.is_null() ? json : error}};
    return StreamStep::kError;
  }
  return dialect.fold(json, event.name, so_far);
}

void conclude(ChatReply& reply, std::string content, const std::string& refusal, bool hit_limit,
              size_t reasoning_bytes) {
  const bool has_text = !base::trim(content).empty();
  if (!refusal.empty()) {
    reply.outcome = chat_outcome::kRefusal;
    reply.message = "the model refused: " + clean_line(refusal);
  } else if (hit_limit) {
    reply.outcome = chat_outcome::kTruncated;
    reply.message = "the answer was cut off at its token limit";
    if (!has_text && reasoning_bytes > 0) {
      reply.message += ", all of it reasoning; raise max_completion_tokens";
    }
    reply.content = std::move(content);
  } else if (!has_text) {
    reply.outcome = chat_outcome::kEmpty;
    reply.message = reasoning_bytes > 0 ? "the answer holds reasoning, but no text"
                                        : "the answer holds no text";
  } else {
    reply.outcome = chat_outcome::kOk;
    reply.message.clear();
    reply.content = std::move(content);
  }
}

}  // namespace windtunnel::agent

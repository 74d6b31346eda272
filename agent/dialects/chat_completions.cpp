// POST /chat/completions, as OpenAI, llama.cpp, vLLM, Ollama and most others serve it.
//
// Seen in the field and read here: content as a list of parts; reasoning beside it
// (`reasoning_content` in llama.cpp, `reasoning` in vLLM and Ollama); an empty `tool_calls`;
// arguments as an object instead of a string; a finish reason that is null, or says `stop` although
// a tool was called; names repeated in every delta; a usage that comes in a last chunk without
// choices, more than once, or never; `done_reason` (Ollama).
//
// Source: the vendors' interface descriptions.

#include "agent/dialect.h"
#include "agent/foreign_json.h"

namespace windtunnel::agent {
namespace {

using base::Json;

std::vector<std::string> headers(const std::string& key) {
  if (key.empty()) return {};
  return {"Authorization: Bearer " + key};
}

Json body(const Question& question) {
  Json body = {{"model", question.model}, {"messages", Json::array()}};
  for (const ChatMessage& message : question.messages) {
    body["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  if (!question.token_limit.empty()) body[question.token_limit] = question.max_completion_tokens;
  if (question.stream) {
    body["stream"] = true;
    if (question.stream_usage) body["stream_options"] = {{"include_usage", true}};
  }
  if (question.schema.is_null()) return body;
  // Not strict: the strict subset has no open ranges and no optional paths. The caller checks.
  if (question.structured == structured::kSchema) {
    body["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", kSchemaName}, {"strict", false}, {"schema", question.schema}}}};
  } else if (question.structured == structured::kObject) {
    body["response_format"] = {{"type", "json_object"}};
  } else if (question.structured == structured::kTools) {
    body["tools"] = {{{"type", "function"},
                      {"function",
                       {{"name", kSchemaName},
                        {"description", kSchemaWords},
                        {"parameters", question.schema}}}}};
    body["tool_choice"] = {{"type", "function"}, {"function", {{"name", kSchemaName}}}};
  }
  return body;
}

/// Text of a message: a string, or the text parts of a list.
std::string text_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (content.is_array()) {
    for (const Json& part : content) text += text_at(part, "text");
  }
  return text;
}

std::string arguments_of(const Json& message) {
  const Json& arguments =
      value_at(value_at(first_of(value_at(message, "tool_calls")), "function"), "arguments");
  if (arguments.is_object() && !arguments.empty()) return print_foreign(arguments);
  return arguments.is_string() ? arguments.get<std::string>() : "";
}

void read(const Json& json, ChatReply& reply) {
  reply.prompt_tokens = count_at(json, "usage.prompt_tokens");
  reply.completion_tokens = count_at(json, "usage.completion_tokens");
  const Json& choice = first_of(value_at(json, "choices"));
  const Json& message = value_at(choice, "message");
  if (!message.is_object()) {
    reply.outcome = chat_outcome::kMalformed;
    reply.message = "its reply has no choices[0].message";
    return;
  }
  reply.finish = text_at(choice, "finish_reason");
  if (reply.finish.empty()) reply.finish = text_at(choice, "done_reason");
  std::string refusal = text_at(message, "refusal");
  if (refusal.empty() && reply.finish == "content_filter") refusal = "content filter";
  std::string content = arguments_of(message);
  if (content.empty()) content = text_of(value_at(message, "content"));
  const size_t reasoning =
      text_at(message, "reasoning_content").size() + text_at(message, "reasoning").size();
  conclude(reply, std::move(content), refusal, reply.finish == "length", reasoning);
}

void append(Json& message, const char* key, const Json& delta) {
  const std::string piece = text_of(value_at(delta, key));
  if (!piece.empty()) message[key] = text_at(message, key) + piece;
}

/// Deltas of a tool call merge by index; one without belongs to the last.
void fold_tool_calls(const Json& deltas, Json& message) {
  if (!deltas.is_array()) return;
  Json& calls = message["tool_calls"];
  if (!calls.is_array()) calls = Json::array();
  for (const Json& delta : deltas) {
    const size_t last = calls.empty() ? 0 : calls.size() - 1;
    const auto index =
        static_cast<size_t>(count_at(delta, "index").value_or(static_cast<int64_t>(last)));
    if (index > calls.size()) continue;
    if (index == calls.size()) {
      calls.push_back({{"type", "function"}, {"function", {{"name", ""}, {"arguments", ""}}}});
    }
    const Json& function = value_at(delta, "function");
    Json& known = calls[index]["function"];
    if (text_at(known, "name").empty()) known["name"] = text_at(function, "name");
    const Json& arguments = value_at(function, "arguments");
    const std::string piece = arguments.is_object()   ? print_foreign(arguments)
                              : arguments.is_string() ? arguments.get<std::string>()
                                                      : "";
    known["arguments"] = text_at(known, "arguments") + piece;
  }
}

StreamStep fold(const Json& event, const std::string& /*name*/, Json& so_far) {
  if (so_far.is_null()) {
    so_far = {{"choices", {{{"message", {{"role", "assistant"}, {"content", ""}}}}}}};
  }
  if (value_at(event, "usage").is_object()) so_far["usage"] = event["usage"];
  const Json& choice = first_of(value_at(event, "choices"));
  Json& known = so_far["choices"][0];
  const Json& delta = value_at(choice, "delta");
  append(known["message"], "content", delta);
  append(known["message"], "reasoning_content", delta);
  append(known["message"], "reasoning", delta);
  append(known["message"], "refusal", delta);
  fold_tool_calls(value_at(delta, "tool_calls"), known["message"]);
  const std::string finish = text_at(choice, "finish_reason");
  if (!finish.empty()) known["finish_reason"] = finish;
  return StreamStep::kMore;
}

const base::Registration<Dialect> registration{
    {.name = "chat_completions",
     .summary = "OpenAI's chat completions, which llama.cpp, vLLM and Ollama serve too",
     .entry = {.path = "/chat/completions",
               .headers = headers,
               .body = body,
               .read = read,
               .fold = fold,
               .structured = {structured::kSchema, structured::kTools, structured::kObject},
               // Every server knows the old name; those that want the new one say so, while others
               // ignore it in silence and never stop.
               .token_limits = {"max_tokens", "max_completion_tokens"}}}};

}  // namespace
}  // namespace windtunnel::agent

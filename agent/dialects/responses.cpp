// POST /responses, as OpenAI serves it; llama.cpp, vLLM and Ollama have versions of it that keep
// nothing between calls, which is all that is asked for here.
//
// The schema lies flat in text.format, the reply is a list of items (reasoning, messages, function
// calls) and its end a `status`. A stream ends with an event that holds the whole response; its
// deltas count where that is missing or empty.
//
// Source: the vendor's interface description.

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
  Json body = {{"model", question.model}, {"input", Json::array()}, {"store", false}};
  std::string instructions;
  for (const ChatMessage& message : question.messages) {
    if (message.role == "system") {
      instructions += (instructions.empty() ? "" : "\n\n") + message.content;
    } else {
      body["input"].push_back({{"role", message.role}, {"content", message.content}});
    }
  }
  if (!instructions.empty()) body["instructions"] = instructions;
  if (!question.token_limit.empty()) body[question.token_limit] = question.max_completion_tokens;
  if (question.stream) body["stream"] = true;
  if (question.schema.is_null()) return body;
  // Not strict, as in chat completions.
  if (question.structured == structured::kSchema) {
    body["text"]["format"] = {{"type", "json_schema"},
                              {"name", kSchemaName},
                              {"strict", false},
                              {"schema", question.schema}};
  } else if (question.structured == structured::kObject) {
    body["text"]["format"] = {{"type", "json_object"}};
  } else if (question.structured == structured::kTools) {
    body["tools"] = {{{"type", "function"},
                      {"name", kSchemaName},
                      {"description", kSchemaWords},
                      {"strict", false},
                      {"parameters", question.schema}}};
    body["tool_choice"] = {{"type", "function"}, {"name", kSchemaName}};
  }
  return body;
}

struct Output {
  std::string text;
  std::string arguments;
  std::string refusal;
  size_t reasoning_bytes = 0;
};

Output output_of(const Json& json) {
  Output output;
  const Json& items = value_at(json, "output");
  if (!items.is_array()) return output;
  for (const Json& item : items) {
    const std::string type = text_at(item, "type");
    if (type == "function_call" && output.arguments.empty()) {
      output.arguments = text_at(item, "arguments");
    }
    const Json& parts = value_at(item, "content");
    if (parts.is_string() && type == "message") output.text += parts.get<std::string>();
    if (!parts.is_array()) continue;
    for (const Json& part : parts) {
      output.refusal += text_at(part, "refusal");
      if (type == "reasoning") {
        output.reasoning_bytes += text_at(part, "text").size();
      } else {
        output.text += text_at(part, "text");
      }
    }
  }
  return output;
}

void read(const Json& json, ChatReply& reply) {
  reply.prompt_tokens = count_at(json, "usage.input_tokens");
  reply.completion_tokens = count_at(json, "usage.output_tokens");
  if (!value_at(json, "output").is_array()) {
    reply.outcome = chat_outcome::kMalformed;
    reply.message = "its reply has no list of output items";
    return;
  }
  Output output = output_of(json);
  // Deltas of a stream whose end never came, or came empty.
  if (output.text.empty()) output.text = text_at(json, "text_so_far");
  if (output.arguments.empty()) output.arguments = text_at(json, "arguments_so_far");
  const std::string reason = text_at(value_at(json, "incomplete_details"), "reason");
  reply.finish = reason.empty() ? text_at(json, "status") : reason;
  if (reply.finish == "in_progress") reply.finish.clear();
  if (reason == "content_filter" && output.refusal.empty()) output.refusal = "content filter";
  conclude(reply, output.arguments.empty() ? output.text : output.arguments, output.refusal,
           reason == "max_output_tokens" || reason == "max_tokens", output.reasoning_bytes);
}

StreamStep fold(const Json& event, const std::string& name, Json& so_far) {
  if (so_far.is_null()) so_far = {{"output", Json::array()}};
  const std::string type = text_at(event, "type").empty() ? name : text_at(event, "type");
  const auto append = [&](const char* key) {
    so_far[key] = text_at(so_far, key) + text_at(event, "delta");
  };
  if (type == "response.output_text.delta") {
    append("text_so_far");
  } else if (type == "response.function_call_arguments.delta") {
    append("arguments_so_far");
  } else if (type == "response.completed" || type == "response.incomplete" ||
             type == "response.failed") {
    const Json& response = value_at(event, "response");
    if (type == "response.failed") {
      const Json& error = value_at(response, "error");
      so_far = Json{{"error", error.is_null() ? response : error}};
      return StreamStep::kError;
    }
    if (response.is_object()) {
      for (const auto& [key, value] : response.items()) so_far[key] = value;
    }
    return StreamStep::kEnd;
  }
  return StreamStep::kMore;
}

const base::Registration<Dialect> registration{
    {.name = "responses",
     .summary = "OpenAI's responses",
     .entry = {.path = "/responses",
               .headers = headers,
               .body = body,
               .read = read,
               .fold = fold,
               .structured = {structured::kSchema, structured::kTools, structured::kObject},
               .token_limits = {"max_output_tokens"}}}};

}  // namespace
}  // namespace windtunnel::agent

// POST /messages, as Anthropic serves it, and llama.cpp beside its own.
//
// The system message is a field of its own, the limit of tokens is required, the arguments of a
// tool are an object, and the tokens of a cached question are counted apart.
//
// Source: the vendor's interface description; header anthropic-version 2023-06-01.

#include "agent/dialect.h"
#include "agent/foreign_json.h"

namespace windtunnel::agent {
namespace {

using base::Json;

std::vector<std::string> headers(const std::string& key) {
  std::vector<std::string> lines = {"anthropic-version: 2023-06-01"};
  if (!key.empty()) lines.push_back("x-api-key: " + key);
  return lines;
}

Json body(const Question& question) {
  Json body = {{"model", question.model},
               {"max_tokens", question.max_completion_tokens},
               {"messages", Json::array()}};
  std::string system;
  for (const ChatMessage& message : question.messages) {
    if (message.role == "system") {
      system += (system.empty() ? "" : "\n\n") + message.content;
    } else {
      body["messages"].push_back({{"role", message.role}, {"content", message.content}});
    }
  }
  if (!system.empty()) body["system"] = system;
  if (question.stream) body["stream"] = true;
  if (question.schema.is_null()) return body;
  if (question.structured == structured::kSchema) {
    body["output_config"] = {{"format", {{"type", "json_schema"}, {"schema", question.schema}}}};
  } else if (question.structured == structured::kTools) {
    body["tools"] = {
        {{"name", kSchemaName}, {"description", kSchemaWords}, {"input_schema", question.schema}}};
    body["tool_choice"] = {{"type", "tool"}, {"name", kSchemaName}};
  }
  return body;
}

void read(const Json& json, ChatReply& reply) {
  reply.prompt_tokens = count_at(json, "usage.input_tokens");
  for (const char* cached :
       {"usage.cache_creation_input_tokens", "usage.cache_read_input_tokens"}) {
    if (reply.prompt_tokens) *reply.prompt_tokens += count_at(json, cached).value_or(0);
  }
  reply.completion_tokens = count_at(json, "usage.output_tokens");
  const Json& blocks = value_at(json, "content");
  if (!blocks.is_array()) {
    reply.outcome = chat_outcome::kMalformed;
    reply.message = "its reply has no list of content blocks";
    return;
  }
  std::string text;
  std::string arguments;
  size_t reasoning = 0;
  for (const Json& block : blocks) {
    text += text_at(block, "text");
    reasoning += text_at(block, "thinking").size();
    if (text_at(block, "type") != "tool_use" || !arguments.empty()) continue;
    const Json& input = value_at(block, "input");
    arguments =
        input.is_object() && !input.empty() ? print_foreign(input) : text_at(block, "partial_json");
  }
  reply.finish = text_at(json, "stop_reason");
  const bool hit_limit =
      reply.finish == "max_tokens" || reply.finish == "model_context_window_exceeded";
  std::string refusal;
  if (reply.finish == "refusal") refusal = text.empty() ? "stop reason refusal" : text;
  conclude(reply, arguments.empty() ? text : arguments, refusal, hit_limit, reasoning);
}

void merge_usage(const Json& usage, Json& so_far) {
  if (!usage.is_object()) return;
  for (const auto& [key, value] : usage.items()) so_far["usage"][key] = value;
}

/// The block of an event's index, made if it is the next one; null if it makes no sense.
Json* block_at(const Json& event, Json& so_far) {
  Json& blocks = so_far["content"];
  const auto index = count_at(event, "index");
  if (!index || static_cast<size_t>(*index) > blocks.size()) return nullptr;
  if (static_cast<size_t>(*index) == blocks.size()) blocks.push_back(Json::object());
  return &blocks[static_cast<size_t>(*index)];
}

void append(Json& block, const char* key, const Json& delta, const char* from) {
  const std::string piece = text_at(delta, from);
  if (!piece.empty()) block[key] = text_at(block, key) + piece;
}

StreamStep fold(const Json& event, const std::string& name, Json& so_far) {
  if (so_far.is_null()) so_far = {{"content", Json::array()}, {"usage", Json::object()}};
  const std::string type = text_at(event, "type").empty() ? name : text_at(event, "type");
  if (type == "message_start") {
    merge_usage(value_at(value_at(event, "message"), "usage"), so_far);
  } else if (type == "content_block_start") {
    Json* block = block_at(event, so_far);
    if (block && value_at(event, "content_block").is_object()) *block = event["content_block"];
  } else if (type == "content_block_delta") {
    const Json& delta = value_at(event, "delta");
    if (Json* block = block_at(event, so_far)) {
      append(*block, "text", delta, "text");
      append(*block, "thinking", delta, "thinking");
      append(*block, "partial_json", delta, "partial_json");
    }
  } else if (type == "message_delta") {
    const std::string reason = text_at(value_at(event, "delta"), "stop_reason");
    if (!reason.empty()) so_far["stop_reason"] = reason;
    merge_usage(value_at(event, "usage"), so_far);
  } else if (type == "message_stop") {
    return StreamStep::kEnd;
  }
  return StreamStep::kMore;
}

const base::Registration<Dialect> registration{
    {.name = "messages",
     .summary = "Anthropic's messages",
     .entry = {.path = "/messages",
               .headers = headers,
               .body = body,
               .read = read,
               .fold = fold,
               .structured = {structured::kSchema, structured::kTools},
               .token_limits = {"max_tokens"},
               .needs_token_limit = true}}};

}  // namespace
}  // namespace windtunnel::agent

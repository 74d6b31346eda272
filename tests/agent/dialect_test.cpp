// Each dialect, whole and as a stream: the same text, the same tokens, the same outcome.

#include "agent/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/chat_client.h"
#include "base/clock.h"
#include "tests/agent/scripted_server.h"

namespace windtunnel::agent {
namespace {

using base::Json;
using ::testing::HasSubstr;
using testing::raw;
using testing::ScriptedServer;
using testing::stream;

/// What a server of one dialect sends.
struct Script {
  std::string whole;
  /// The same answer in pieces.
  std::string pieces;
  std::string whole_tool;
  std::string tool_pieces;
  std::string truncated;
  std::string refused;
  /// Behind a status of 200.
  std::string error_event;
};

/// JSON on one line of ASCII; "[DONE]" as it is.
std::string one_line(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? text : json.dump(-1, ' ', /*ensure_ascii=*/true);
}

std::string events(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "data: " + one_line(line) + "\n\n";
  return text;
}

std::string typed_events(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += "event: " + Json::parse(line).at("type").get<std::string>() +
            "\ndata: " + one_line(line) + "\n\n";
  }
  return text;
}

// All answers are the text "say \"hi\" \u6f22", all tools get {"a": 1}, all count 12 and 5 tokens.
const std::map<std::string, Script> kScripts = {
    {"chat_completions",
     {.whole = R"({"choices": [{"message": {"content": "say \"hi\" \u6f22"}, "finish_reason":
                   "stop"}], "usage": {"prompt_tokens": 12, "completion_tokens": 5}})",
      .pieces =
          ": keep-alive\n\n" +
          events({R"({"choices": [{"delta": {"role": "assistant", "content": ""}}]})",
                  R"({"choices": [{"delta": {"content": "say \"hi"}}], "obfuscation": "x"})",
                  R"({"choices": [{"delta": {"content": "\" \u6f22"}}]})",
                  R"({"choices": [{"delta": {}, "finish_reason": "stop"}]})",
                  R"({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 5}})",
                  "[DONE]"}),
      .whole_tool = R"({"choices": [{"message": {"content": null, "tool_calls": [{"function":
                        {"name": "answer", "arguments": "{\"a\": 1}"}}]}, "finish_reason": "stop"}]})",
      .tool_pieces = events(
          {R"({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c",
               "function": {"name": "answer", "arguments": ""}}]}}]})",
           R"({"choices": [{"delta": {"tool_calls": [{"index": 0,
               "function": {"name": "answer", "arguments": "{\"a\":"}}]}}]})",
           R"({"choices": [{"delta": {"tool_calls": [{"function": {"arguments": " 1}"}}]}}]})",
           "[DONE]"}),
      .truncated = R"({"choices": [{"message": {"content": "sa"}, "finish_reason": "length"}]})",
      .refused = R"({"choices": [{"message": {"content": null, "refusal": "I will not"}}]})",
      .error_event = events({R"({"choices": [{"delta": {"content": "sa"}}]})",
                             R"({"error": {"message": "CUDA is lost", "code": 500}})"})}},
    {"messages",
     {.whole = R"({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text":
                   "say \"hi\" \u6f22"}], "stop_reason": "end_turn", "usage": {"input_tokens": 2,
                   "cache_read_input_tokens": 10, "output_tokens": 5}})",
      .pieces = typed_events(
          {R"({"type": "message_start", "message": {"usage": {"input_tokens": 2,
               "cache_read_input_tokens": 10, "output_tokens": 1}}})",
           R"({"type": "ping"})",
           R"({"type": "content_block_start", "index": 0, "content_block": {"type": "text",
               "text": ""}})",
           R"({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta",
               "text": "say \"hi"}})",
           R"({"type": "content_block_delta", "index": 0, "delta": {"text": "\" \u6f22"}})",
           R"({"type": "content_block_stop", "index": 0})",
           R"({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
               "usage": {"output_tokens": 5}})",
           R"({"type": "message_stop"})"}),
      .whole_tool = R"({"content": [{"type": "tool_use", "name": "answer", "input": {"a": 1}}],
                        "stop_reason": "tool_use"})",
      .tool_pieces = typed_events(
          {R"({"type": "message_start", "message": {}})",
           R"({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use",
               "name": "answer", "input": {}}})",
           R"({"type": "content_block_delta", "index": 0, "delta": {"partial_json": "{\"a\":"}})",
           R"({"type": "content_block_delta", "index": 0, "delta": {"partial_json": " 1}"}})",
           R"({"type": "message_stop"})"}),
      .truncated = R"({"content": [{"type": "text", "text": "sa"}], "stop_reason": "max_tokens"})",
      .refused = R"({"content": [{"type": "text", "text": "no"}], "stop_reason": "refusal"})",
      .error_event = typed_events(
          {R"({"type": "message_start", "message": {}})",
           R"({"type": "error", "error": {"type": "api_error", "message": "CUDA is lost"}})"})}},
    {"responses",
     {.whole = R"({"status": "completed", "output": [{"type": "reasoning", "content": []},
                   {"type": "message", "content": [{"type": "output_text", "text":
                   "say \"hi\" \u6f22"}]}], "usage": {"input_tokens": 12, "output_tokens": 5}})",
      .pieces = typed_events(
          {R"({"type": "response.created", "response": {"status": "in_progress", "output": []}})",
           R"({"type": "response.output_text.delta", "delta": "say \"hi"})",
           R"({"type": "response.output_text.delta", "delta": "\" \u6f22"})",
           R"({"type": "response.completed", "response": {"status": "completed", "output": [],
               "usage": {"input_tokens": 12, "output_tokens": 5}}})"}),
      .whole_tool =
          R"({"status": "completed", "output": [{"type": "function_call", "name": "answer",
                        "arguments": "{\"a\": 1}"}]})",
      .tool_pieces =
          typed_events({R"({"type": "response.function_call_arguments.delta", "delta": "{\"a\":"})",
                        R"({"type": "response.function_call_arguments.delta", "delta": " 1}"})",
                        R"({"type": "response.completed", "response": {"status": "completed"}})"}),
      .truncated = R"({"status": "incomplete", "incomplete_details": {"reason":
                       "max_output_tokens"}, "output": [{"type": "message", "content": [{"type":
                       "output_text", "text": "sa"}]}]})",
      .refused = R"({"status": "completed", "output": [{"type": "message", "content": [{"type":
                     "refusal", "refusal": "I will not"}]}]})",
      .error_event = typed_events(
          {R"({"type": "response.output_text.delta", "delta": "sa"})",
           R"({"type": "response.failed", "response": {"status": "failed", "error": {"code":
               "server_error", "message": "CUDA is lost"}}})"})}}};

const std::string kText = "say \"hi\" \xE6\xBC\xA2";

class DialectContract : public ::testing::TestWithParam<std::string> {
 protected:
  const Script& script() const { return kScripts.at(GetParam()); }

  ChatOptions options(ScriptedServer& server) const {
    return {.endpoint = server.endpoint(),
            .model = "scripted",
            .api = GetParam(),
            .timeout_seconds = 5,
            .max_attempts = 1};
  }
  ChatReply ask(const ScriptedServer::Step& step, bool streaming, const Json& schema = nullptr) {
    ScriptedServer server({step});
    ChatOptions how = options(server);
    how.streaming = streaming ? "on" : "off";
    ChatReply reply = ChatClient(how).ask({{"system", "be brief"}, {"user", "go"}}, schema);
    request_ = server.requests().front();
    path_ = server.paths().front();
    return reply;
  }

  Json request_;
  std::string path_;
};

TEST_P(DialectContract, AWholeReplyAndItsStreamAreReadTheSame) {
  for (const bool streaming : {false, true}) {
    const ChatReply reply =
        ask(streaming ? stream(script().pieces) : raw(script().whole), streaming);
    EXPECT_EQ(reply.outcome, "ok") << reply.message;
    EXPECT_EQ(reply.content, kText);
    EXPECT_EQ(reply.prompt_tokens, 12);
    EXPECT_EQ(reply.completion_tokens, 5);
    EXPECT_EQ(reply.streamed, streaming);
    EXPECT_EQ(request_.value("stream", false), streaming);
    EXPECT_EQ(path_, "/v1" + Dialects::instance().get(GetParam(), "dialect").entry.path);
  }
}

TEST_P(DialectContract, AServerThatDoesNotStreamAnswersAllTheSame) {
  const ChatReply reply = ask(raw(script().whole), /*streaming=*/true);
  EXPECT_EQ(reply.content, kText);
  EXPECT_FALSE(reply.streamed);
}

TEST_P(DialectContract, AndOneThatOnlyStreamsIsReadToo) {
  EXPECT_EQ(ask(stream(script().pieces), /*streaming=*/false).content, kText);
  // Of a wrong type, too.
  EXPECT_EQ(ask(raw(script().pieces.substr(script().pieces.find("data:"))), true).content, kText);
}

TEST_P(DialectContract, TheArgumentsOfAToolAreTheAnswer) {
  EXPECT_EQ(Json::parse(ask(raw(script().whole_tool), false).content), (Json{{"a", 1}}));
  EXPECT_EQ(Json::parse(ask(stream(script().tool_pieces), true).content), (Json{{"a", 1}}));
}

TEST_P(DialectContract, WhatIsCutOrRefusedIsSaidToBe) {
  const ChatReply cut = ask(raw(script().truncated), false);
  EXPECT_EQ(cut.outcome, "truncated");
  EXPECT_EQ(cut.content, "sa");
  const ChatReply refused = ask(raw(script().refused), false);
  EXPECT_EQ(refused.outcome, "refusal");
  EXPECT_EQ(refused.content, "");
}

TEST_P(DialectContract, AnErrorBehindA200IsAnError) {
  const ChatReply reply = ask(stream(script().error_event), true);
  EXPECT_EQ(reply.outcome, "server_error");
  EXPECT_THAT(reply.message, HasSubstr("CUDA is lost"));
}

TEST_P(DialectContract, AStreamThatEndsEarlyIsBrokenUnlessItsContentIsWhole) {
  const std::string& pieces = script().pieces;
  const size_t half = pieces.find("\\u6f22");
  const ChatReply torn = ask(stream(pieces.substr(0, half)), true);
  EXPECT_EQ(torn.outcome, "broken") << torn.message;
  const size_t event_end = pieces.rfind("\n\n", half);
  EXPECT_EQ(ask(stream(pieces.substr(0, event_end + 2)), true).outcome, "broken");
  const std::string& tool = script().tool_pieces;
  const size_t whole = tool.find("\n\n", tool.find(" 1}")) + 2;
  EXPECT_EQ(ask(stream(tool.substr(0, whole)), true).outcome, "ok");
}

TEST_P(DialectContract, EveryFormHoldsTheSchemaAndTheLimit) {
  const Json schema = {{"type", "object"}, {"properties", {{"a", {{"type", "integer"}}}}}};
  for (const std::string& form : Dialects::instance().get(GetParam(), "dialect").entry.structured) {
    ScriptedServer server({raw(script().whole_tool)});
    ChatOptions how = options(server);
    how.structured = form;
    how.max_completion_tokens = 77;
    ChatClient(how).ask({{"system", "be brief"}, {"user", "go"}}, schema);
    const std::string sent = server.requests().front().dump();
    EXPECT_EQ(sent.find(schema.dump()) != std::string::npos, form != structured::kObject) << sent;
    EXPECT_THAT(sent, HasSubstr(":77"));
    EXPECT_THAT(sent, HasSubstr("be brief"));
  }
}

TEST_P(DialectContract, RepliesOfAnyTypesAreReadWithoutATrace) {
  const Dialect& dialect = Dialects::instance().get(GetParam(), "dialect").entry;
  // Every value of the good reply replaced by every type, one at a time.
  const Json good = Json::parse(script().whole).flatten();
  for (const auto& [place, value] : good.items()) {
    for (const Json& wrong :
         {Json(), Json(true), Json(-7), Json(1e300), Json("x"), Json::array(), Json::object(),
          Json::array({1, "x", nullptr}), Json{{"text", 1}, {"type", nullptr}}}) {
      Json reply = Json::parse(script().whole);
      for (Json::json_pointer at(place); !at.empty(); at.pop_back()) {
        Json changed = reply;
        changed[at] = wrong;
        ChatReply read;
        EXPECT_NO_THROW(dialect.read(changed, read)) << changed;
        Json folded;
        EXPECT_NO_THROW(dialect.fold(changed, "", folded)) << changed;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DialectContract, ::testing::ValuesIn(Dialects::instance().names()),
                         [](const auto& name) { return name.param; });

TEST(Dialects, EachAuthenticatesInItsOwnWay) {
  const auto& messages = Dialects::instance().get("messages", "dialect").entry;
  EXPECT_EQ(messages.headers("k"),
            (std::vector<std::string>{"anthropic-version: 2023-06-01", "x-api-key: k"}));
  for (const char* name : {"chat_completions", "responses"}) {
    const auto& dialect = Dialects::instance().get(name, "dialect").entry;
    EXPECT_EQ(dialect.headers("k"), std::vector<std::string>{"Authorization: Bearer k"});
    EXPECT_TRUE(dialect.headers("").empty());
  }
}

}  // namespace
}  // namespace windtunnel::agent

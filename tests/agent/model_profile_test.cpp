// A probe against servers that behave like those in the field.

#include "agent/model_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/dialect.h"
#include "tests/agent/scripted_server.h"

namespace windtunnel::agent {
namespace {

using base::Json;
using ::testing::HasSubstr;
using testing::ScriptedServer;
using testing::status;

/// What one server can do with chat completions; everything else is unknown to it.
struct Abilities {
  bool schema = true;
  bool tools = true;
  bool object = true;
  bool streams = true;
  bool usage = true;
  bool usage_in_streams = true;
  std::vector<std::string> limits = {"max_tokens"};
  /// Forms it does not know are refused, not ignored.
  bool refuses = false;
};

ScriptedServer::Step server_with(const Abilities& can) {
  return [can](const httplib::Request& request, httplib::Response& response) {
    const auto refuse = [&](int code, const std::string& words) {
      response.status = code;
      response.set_content(Json{{"error", {{"message", words}}}}.dump(), "application/json");
    };
    if (request.path != "/v1/chat/completions") return refuse(404, "no such path");
    const Json body = Json::parse(request.body);
    int64_t limit = 500;
    for (const std::string& name : can.limits) limit = std::min(limit, body.value(name, limit));
    std::string text = "It rains.";
    if (body["messages"][0]["content"].get<std::string>().starts_with("Count")) {
      text.clear();
      for (int64_t i = 1; i <= limit; ++i) text += std::to_string(i) + " ";
    }
    Json message = {{"role", "assistant"}, {"content", text}};
    const std::string form =
        body.contains("response_format") ? body["response_format"]["type"].get<std::string>() : "";
    const bool is_known = (form != "json_schema" || can.schema) &&
                          (form != "json_object" || can.object) &&
                          (!body.contains("tools") || can.tools);
    if (!is_known && can.refuses) return refuse(400, "unknown param: response_format or tools");
    if (is_known && form == "json_schema") message["content"] = R"({"colour": "teal"})";
    if (is_known && form == "json_object") message["content"] = R"({"weather": "rain"})";
    if (is_known && body.contains("tools")) {
      message["content"] = nullptr;
      message["tool_calls"] = {
          {{"function", {{"name", "answer"}, {"arguments", R"({"colour": "teal"})"}}}}};
    }
    const Json usage = {{"prompt_tokens", 20}, {"completion_tokens", limit}};
    if (body.value("stream", false) && can.streams) {
      const Json delta = {{"delta", message}};
      std::string events = "data: " + Json{{"choices", Json::array({delta})}}.dump() + "\n\n";
      if (can.usage_in_streams) {
        events += "data: " + Json{{"choices", Json::array()}, {"usage", usage}}.dump() + "\n\n";
      }
      response.set_content(events + "data: [DONE]\n\n", "text/event-stream");
      return;
    }
    const Json choice = {{"message", message}, {"finish_reason", "stop"}};
    Json reply = {{"choices", Json::array({choice})}};
    if (can.usage) reply["usage"] = usage;
    response.set_content(reply.dump(), "application/json");
  };
}

ModelProfile probe(const ScriptedServer& server) {
  return probe_model(
      {.endpoint = server.endpoint(), .model = "m", .timeout_seconds = 5, .max_attempts = 1});
}

TEST(ModelProfile, FindsWhatALlamaServerCanDo) {
  ScriptedServer server({server_with({})},
                        {{"/v1/models", {{"data", {{{"id", "m"}, {"owned_by", "llamacpp"}}}}}},
                         {"/props", {{"default_generation_settings", {{"n_ctx", 8192}}}}}});
  const ModelProfile profile = probe(server);
  EXPECT_EQ(profile.api, "chat_completions") << profile.problem;
  EXPECT_EQ(profile.server, "llama.cpp");
  EXPECT_TRUE(profile.streaming);
  EXPECT_EQ(profile.structured, "json_schema");
  EXPECT_EQ(profile.token_limit, "max_tokens");
  EXPECT_TRUE(profile.reports_usage);
  EXPECT_TRUE(profile.reports_usage_in_streams);
  EXPECT_EQ(profile.context_tokens, 8192);
}

TEST(ModelProfile, TheContextIsReadWhereverAServerTellsIt) {
  ScriptedServer vllm(
      {server_with({})},
      {{"/v1/models",
        {{"data", {{{"id", "m"}, {"owned_by", "vllm"}, {"max_model_len", 32768}}}}}}});
  EXPECT_EQ(probe(vllm).server, "vLLM");
  EXPECT_EQ(probe(vllm).context_tokens, 32768);
  ScriptedServer ollama({server_with({})},
                        {{"/api/ps", {{"models", {{{"name", "m"}, {"context_length", 4096}}}}}}});
  EXPECT_EQ(probe(ollama).server, "Ollama");
  EXPECT_EQ(probe(ollama).context_tokens, 4096);
  ScriptedServer silent({server_with({})});
  EXPECT_EQ(probe(silent).context_tokens, std::nullopt);
}

TEST(ModelProfile, AFormThatIsIgnoredIsAsGoodAsRefused) {
  for (const bool refuses : {false, true}) {
    Abilities can{.schema = false, .refuses = refuses};
    EXPECT_EQ(probe(ScriptedServer({server_with(can)})).structured, "tools");
    can.tools = false;
    EXPECT_EQ(probe(ScriptedServer({server_with(can)})).structured, "json_object");
    can.object = false;
    EXPECT_EQ(probe(ScriptedServer({server_with(can)})).structured, "none");
  }
}

TEST(ModelProfile, WhatIsMissingIsSeenToBe) {
  Abilities can;
  can.streams = can.usage = can.usage_in_streams = false;
  can.limits = {};
  const ModelProfile profile = probe(ScriptedServer({server_with(can)}));
  EXPECT_TRUE(profile.works());
  EXPECT_FALSE(profile.streaming);
  EXPECT_FALSE(profile.reports_usage);
  EXPECT_EQ(profile.token_limit, "");
}

TEST(ModelProfile, AutoFindsTheDialectThatTheServerSpeaks) {
  ScriptedServer server({[](const httplib::Request& request, httplib::Response& response) {
    response.status = request.path == "/v1/messages" ? 200 : 404;
    response.set_content(R"({"content": [{"type": "text", "text": "1 2 3"}], "usage":
                             {"input_tokens": 20, "output_tokens": 6}})",
                         "application/json");
  }});
  const ModelProfile profile = probe(server);
  EXPECT_EQ(profile.api, "messages");
  EXPECT_EQ(profile.structured, "none");
  EXPECT_EQ(server.paths()[0], "/v1/chat/completions");
}

TEST(ModelProfile, AServerThatDoesNotWorkIsSaidWhy) {
  const ModelProfile down =
      probe_model({.endpoint = "http://127.0.0.1:1/v1", .model = "m", .max_attempts = 1});
  EXPECT_FALSE(down.works());
  EXPECT_EQ(down.outcome, "down");
  EXPECT_THAT(down.problem, HasSubstr("language model at http://127.0.0.1:1/v1: "));
  ScriptedServer locked({status(401, R"({"error": {"message": "no key"}})")});
  const ModelProfile refused = probe(locked);
  EXPECT_EQ(refused.outcome, "rejected");
  EXPECT_THAT(refused.problem, HasSubstr("no key"));
  ScriptedServer poor({status(402, "{}")});
  EXPECT_EQ(probe(poor).outcome, "out_of_money");
  EXPECT_EQ(poor.requests().size(), 1U);
}

TEST(ModelProfile, SurvivesTheJournal) {
  ScriptedServer server({server_with({})});
  const ModelProfile profile = probe(server);
  const auto again = base::from_json<ModelProfile>(base::to_json(profile), "profile");
  EXPECT_EQ(base::to_json(again), base::to_json(profile));
}

}  // namespace
}  // namespace windtunnel::agent

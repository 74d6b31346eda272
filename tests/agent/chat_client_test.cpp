#include "agent/chat_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/clock.h"
#include "base/error.h"
#include "tests/agent/scripted_server.h"

namespace windtunnel::agent {
namespace {

using base::Json;
using testing::answer;
using ::testing::HasSubstr;
using testing::raw;
using testing::ScriptedServer;
using testing::slow;
using testing::status;

constexpr const char* kCanary = "sk-canary-0123456789abcdef";

ChatOptions options_for(const std::string& endpoint) {
  ::setenv("WINDTUNNEL_TEST_KEY", kCanary, 1);
  return {.endpoint = endpoint,
          .model = "scripted",
          .key_variable = "WINDTUNNEL_TEST_KEY",
          .timeout_seconds = 5,
          .max_attempts = 3};
}

ChatReply ask(const ChatOptions& options, const Json& schema = nullptr) {
  return ChatClient(options).ask({{"user", "what next?"}}, schema);
}

ChatReply ask(ScriptedServer& server) { return ask(options_for(server.endpoint())); }

TEST(ChatClient, ReturnsTheTextWithItsUsage) {
  ScriptedServer server({answer("hello")});
  const ChatReply reply = ask(server);
  EXPECT_EQ(reply.outcome, "ok") << reply.message;
  EXPECT_EQ(reply.content, "hello");
  EXPECT_EQ(reply.prompt_tokens, 120);
  EXPECT_EQ(reply.completion_tokens, 40);
  EXPECT_EQ(server.authorization(), std::string("Bearer ") + kCanary);
}

TEST(ChatClient, AsksForTheSchemaAndDropsItWhereTheServerDoesNotKnowIt) {
  ScriptedServer server(
      {status(400, R"({"error": {"message": "response_format: unsupported"}})"), answer("{}")});
  ChatClient client(options_for(server.endpoint()));
  const Json schema = {{"type", "object"}};
  EXPECT_TRUE(client.ask({{"user", "x"}}, schema).ok());
  EXPECT_TRUE(client.ask({{"user", "x"}}, schema).ok());
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0]["response_format"]["json_schema"]["schema"], schema);
  EXPECT_FALSE(requests[1].contains("response_format"));
  EXPECT_FALSE(requests[2].contains("response_format"));
}

TEST(ChatClient, DropsTheTokenLimitWhereTheServerDoesNotKnowIt) {
  ScriptedServer server(
      {status(400, R"({"error": "unknown field max_completion_tokens"})"), answer("x")});
  EXPECT_TRUE(ask(server).ok());
  EXPECT_FALSE(server.requests()[1].contains("max_completion_tokens"));
}

TEST(ChatClient, WaitsAsLongAsRetryAfterSays) {
  ScriptedServer server(
      {status(429, R"({"error": {"message": "slow down"}})", {{"Retry-After", "0.3"}}),
       status(429, "{}", {{"Retry-After-Ms", "200"}}), answer("ok")});
  const double start = base::monotonic_seconds();
  const ChatReply reply = ask(server);
  EXPECT_TRUE(reply.ok()) << reply.message;
  EXPECT_EQ(reply.attempts, 3);
  EXPECT_GE(base::monotonic_seconds() - start, 0.5);
}

TEST(ChatClient, DoesNotWaitLongerThanItsCapOrDeadline) {
  ScriptedServer server(
      {status(429, R"({"error": {"message": "busy"}})", {{"Retry-After", "30"}})});
  const ChatReply reply = ask(server);
  EXPECT_EQ(reply.outcome, "rate_limited");
  EXPECT_EQ(reply.attempts, 1);
  EXPECT_THAT(reply.message, HasSubstr("busy (a retry would have to wait 30"));
}

TEST(ChatClient, MoneyErrorsAreFinal) {
  for (const char* code : {"insufficient_quota", "project_spend_limit_exceeded",
                           "organization_usage_limit_exceeded", "credit_balance_exhausted"}) {
    ScriptedServer server(
        {status(429, Json{{"error", {{"message", "you exceeded"}, {"code", code}}}}.dump(),
                {{"Retry-After", "0"}})});
    const ChatReply reply = ask(server);
    EXPECT_EQ(reply.outcome, "out_of_money") << code;
    EXPECT_EQ(reply.attempts, 1);
  }
}

TEST(ChatClient, ServerErrorsAreRetriedABoundedNumberOfTimes) {
  ScriptedServer server({status(500, "{}", {{"Retry-After", "0"}})});
  const ChatReply reply = ask(server);
  EXPECT_EQ(reply.outcome, "server_error");
  EXPECT_EQ(reply.attempts, 3);
  ScriptedServer burst({status(503, "{}", {{"Retry-After", "0"}}),
                        status(529, "{}", {{"Retry-After", "0"}}), answer("ok")});
  EXPECT_TRUE(ask(burst).ok());
}

TEST(ChatClient, ASlowServerIsLeftAtTheDeadline) {
  ScriptedServer server({slow(std::chrono::milliseconds(1500))});
  ChatOptions options = options_for(server.endpoint());
  options.timeout_seconds = 0.3;
  const double start = base::monotonic_seconds();
  const ChatReply reply = ask(options);
  EXPECT_EQ(reply.outcome, "slow");
  EXPECT_THAT(reply.message, HasSubstr("no answer within 300 ms"));
  EXPECT_LT(base::monotonic_seconds() - start, 1.2);
}

TEST(ChatClient, AServerThatIsDownIsSaidToBe) {
  ChatOptions options = options_for("http://127.0.0.1:1/v1");
  options.max_attempts = 1;
  const ChatReply reply = ask(options);
  EXPECT_EQ(reply.outcome, "down");
  EXPECT_THAT(reply.message, HasSubstr("language model at http://127.0.0.1:1/v1: "));
}

TEST(ChatClient, AnswersThatAreNoCompletionAreNamedForWhatTheyAre) {
  const std::vector<std::pair<ScriptedServer::Step, std::string>> cases = {
      {raw("<!doctype html><p>Log in</p>", "text/html"), "html"},
      {raw("  <html>"), "html"},
      {raw("{\"choices\": [{\"mess"), "malformed"},
      {raw("{\"choices\": []}"), "malformed"},
      {raw("{\"choices\": [{\"message\": \"text\"}]}"), "malformed"},
      {raw("{\"choices\": {\"0\": 1}}"), "malformed"},
      {raw("[]"), "malformed"},
      {raw("42"), "malformed"},
      {raw("\xff\xfe"), "malformed"},
      {raw(std::string(1 << 20, '[')), "malformed"},
      {raw(""), "malformed"},
      {raw(R"({"error": "model not loaded"})"), "server_error"},
      {answer(""), "empty"},
      {answer(" \n"), "empty"},
      {raw(R"({"choices": [{"message": {"content": null}}]})"), "empty"},
      {answer("{\"patch\": {", "length"), "truncated"},
      {answer("no", "content_filter"), "refusal"},
      {raw(R"({"choices": [{"message": {"content": "", "refusal": "I cannot"}}]})"), "refusal"},
      {status(404, R"({"error": {"message": "no such model"}})"), "rejected"},
      {status(401, "{}"), "rejected"},
      {status(301, "", {{"Location", "http://elsewhere/"}}), "rejected"}};
  for (const auto& [step, outcome] : cases) {
    ScriptedServer server({step});
    const ChatReply reply = ask(server);
    EXPECT_EQ(reply.outcome, outcome) << reply.message;
    EXPECT_FALSE(reply.message.empty());
    EXPECT_NO_THROW(reply.reply.dump());
    EXPECT_NO_THROW(Json(reply.message).dump());
  }
}

TEST(ChatClient, TheKeyIsReplacedWhereverAServerEchoesIt) {
  const std::string echo = std::string("your key is ") + kCanary;
  for (const auto& step : {answer(echo), raw(echo), status(401, echo), raw("<p>" + echo),
                           status(429, Json{{"error", echo}}.dump(), {{"Retry-After", "99"}})}) {
    ScriptedServer server({step});
    const ChatReply reply = ask(server);
    const std::string all =
        reply.content + reply.message + reply.request.dump() + reply.reply.dump();
    EXPECT_EQ(all.find(kCanary), std::string::npos) << all;
    EXPECT_THAT(all, HasSubstr("[key]"));
  }
}

TEST(ChatClient, AMissingKeyIsNamedWhenTheServerWantsOne) {
  ScriptedServer server({status(401, R"({"error": {"message": "no key"}})")});
  ChatOptions options = options_for(server.endpoint());
  options.key_variable = "WINDTUNNEL_TEST_UNSET";
  EXPECT_THAT(ask(options).message,
              HasSubstr("the environment variable WINDTUNNEL_TEST_UNSET is not set"));
}

TEST(ChatClient, RefusesAddressesItMustNotUse) {
  for (const char* endpoint : {"", "ftp://host/v1", "host:80", "http://", "http://me:pw@host/v1",
                               "http://host/v1?key=1", "file:///etc/passwd"}) {
    EXPECT_THROW(ChatClient({.endpoint = endpoint, .model = "m"}), base::ConfigError) << endpoint;
  }
}

TEST(RetryAfter, ReadsEveryForm) {
  const auto now = std::chrono::system_clock::from_time_t(1'792'567'680);  // Wed, 21 Oct 2026
  EXPECT_EQ(retry_after_seconds("250", "9", now), 0.25);
  EXPECT_EQ(retry_after_seconds("", "7", now), 7);
  EXPECT_EQ(retry_after_seconds("", "1.5", now), 1.5);
  EXPECT_EQ(retry_after_seconds("", "Wed, 21 Oct 2026 07:28:30 GMT", now), 30);
  EXPECT_EQ(retry_after_seconds("", "Wed, 21 Oct 2020 07:28:30 GMT", now), 0);
  EXPECT_EQ(retry_after_seconds("", "", now), std::nullopt);
  EXPECT_EQ(retry_after_seconds("", "-1", now), std::nullopt);
  EXPECT_EQ(retry_after_seconds("", "soon", now), std::nullopt);
}

}  // namespace
}  // namespace windtunnel::agent

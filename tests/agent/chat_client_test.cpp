#include "agent/chat_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "tests/agent/scripted_server.h"
#include "tests/support/temporary_folder.h"

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
  for (const size_t later : {1U, 2U}) {
    EXPECT_FALSE(requests[later].contains("response_format"));
    EXPECT_EQ(requests[later]["tools"][0]["function"]["parameters"], schema);
  }
}

TEST(ChatClient, EveryWayToHoldAnAnswerIsGivenUpInTurn) {
  const auto refuse = [](const char* words) {
    return status(400, Json{{"error", {{"message", words}}}}.dump());
  };
  ScriptedServer server({refuse("json_schema is not supported"), refuse("Unsupported param: tools"),
                         refuse("response_format.type"), answer("{}")});
  EXPECT_TRUE(ask(options_for(server.endpoint()), {{"type", "object"}}).ok());
  EXPECT_EQ(server.requests()[2]["response_format"], (Json{{"type", "json_object"}}));
  EXPECT_FALSE(server.requests()[3].contains("response_format"));
}

TEST(ChatClient, CallsTheTokenLimitWhatTheServerCallsIt) {
  ScriptedServer server(
      {status(400, R"({"error": {"message": "Unsupported parameter: 'max_tokens'. Use )"
                   R"('max_completion_tokens' instead."}})"),
       answer("x"), status(400, R"({"error": "unknown field max_completion_tokens"})"),
       answer("x")});
  ChatClient client(options_for(server.endpoint()));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(client.ask({{"user", "x"}}).ok());
  const auto requests = server.requests();
  EXPECT_EQ(requests[0]["max_tokens"], 4096);
  EXPECT_EQ(requests[1]["max_completion_tokens"], 4096);
  EXPECT_FALSE(requests[1].contains("max_tokens"));
  EXPECT_FALSE(requests[3].contains("max_completion_tokens"));
}

TEST(ChatClient, ExtraFieldsAreSentUntilTheyAreRefused) {
  ScriptedServer server(
      {status(400, R"({"error": {"message": "temperature is not supported"}})"), answer("x")});
  ChatOptions options = options_for(server.endpoint());
  options.extra = {{"temperature", 0.5}, {"top_p", 0.9}};
  EXPECT_TRUE(ask(options).ok());
  EXPECT_EQ(server.requests()[0]["temperature"], 0.5);
  EXPECT_FALSE(server.requests()[1].contains("temperature"));
  EXPECT_EQ(server.requests()[1]["top_p"], 0.9);
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
  for (const auto& step :
       {status(402, "{}"), status(429, R"({"error": {"type": "billing_error", "message": "x"}})"),
        status(400, R"({"type": "error", "error": {"type": "invalid_request_error", )"
                    R"("message": "Your credit balance is too low to access the API."}})"),
        raw(R"({"error": {"code": "insufficient_quota", "message": "no credit"}})")}) {
    ScriptedServer server({step});
    EXPECT_EQ(ask(server).outcome, "out_of_money");
  }
}

TEST(ChatClient, OverloadIsAClassOfItsOwnAndSaysHowLongToWait) {
  for (const auto& step :
       {status(529, "{}", {{"Retry-After", "900"}}), status(503, "{}", {{"Retry-After", "900"}}),
        status(400, R"({"error": {"type": "overloaded_error"}})", {{"Retry-After", "15m0s"}})}) {
    ScriptedServer server({step});
    const ChatReply reply = ask(server);
    EXPECT_EQ(reply.outcome, "overloaded");
    EXPECT_EQ(reply.retry_after_seconds, 900);
    EXPECT_EQ(reply.attempts, 1);
  }
}

TEST(ChatClient, AQuestionTooLongForTheContextIsSaidToBe) {
  const std::vector<std::pair<std::string, std::optional<int64_t>>> errors = {
      {R"({"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request )"
       R"(exceeds the available context size", "n_prompt_tokens": 9000, "n_ctx": 4096}})",
       4096},
      {R"({"error": {"code": "context_length_exceeded", "message": "This model's maximum context )"
       R"(length is 8192 tokens. However, you requested 9000 tokens"}})",
       8192},
      {R"({"error": {"message": "Requested tokens (2950) exceed context window of 2048"}})", 2048},
      {R"({"type": "error", "error": {"message": "prompt is too long: 210000 tokens"}})", {}}};
  for (const auto& [body, context] : errors) {
    ScriptedServer server({status(400, body)});
    const ChatReply reply = ask(server);
    EXPECT_EQ(reply.outcome, "too_long") << body;
    EXPECT_EQ(reply.context_tokens, context) << body;
  }
}

TEST(ChatClient, AQuestionThatTheServerCutIsNoticedByItsTokens) {
  ScriptedServer server({answer("yes")});  // which claims to have read 120 tokens
  ChatClient client(options_for(server.endpoint()));
  EXPECT_FALSE(client.ask({{"user", std::string(900, 'x')}}).prompt_was_cut);
  EXPECT_TRUE(client.ask({{"user", std::string(9000, 'x')}}).prompt_was_cut);
}

TEST(ChatClient, EachRequestIsReservedAtItsWorstAndSettledByWhatIsKnown) {
  ScriptedServer server({status(503, "{}", {{"Retry-After", "0"}}), answer("yes"),
                         raw(R"({"choices": [{"message": {"content": "yes, without usage"}}]})")});
  ChatOptions options = options_for(server.endpoint());
  options.max_completion_tokens = 100;
  options.dollars_per_million_prompt_tokens = 1e4;      // a cent a token
  options.dollars_per_million_completion_tokens = 1e5;  // ten
  std::vector<Settlement> settled;
  int64_t allowed = 3;
  ChatHooks hooks;
  hooks.reserve = [&](const WorstCase&) { return allowed-- > 0; };
  hooks.settle = [&](const Settlement& settlement) { settled.push_back(settlement); };
  ChatClient client(options, {}, hooks);
  const ChatReply first = client.ask({{"user", std::string(10, 'x')}});
  const ChatReply second = client.ask({{"user", std::string(10, 'x')}});
  ASSERT_EQ(settled.size(), 3u);
  EXPECT_EQ(settled[0].prompt_tokens, 0);
  EXPECT_DOUBLE_EQ(*settled[0].dollars, 0);
  EXPECT_DOUBLE_EQ(*first.dollars, 120 * 0.01 + 40 * 0.1);
  EXPECT_EQ(settled[2].prompt_tokens, std::nullopt);
  EXPECT_EQ(settled[2].dollars, settled[2].reserved.dollars);
  EXPECT_GE(*second.dollars, 100 * 0.1);
  const ChatReply third = client.ask({{"user", "x"}});
  EXPECT_EQ(third.outcome, "no_budget");
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(ChatClient, ServerErrorsAreRetriedABoundedNumberOfTimes) {
  ScriptedServer server({status(500, "{}", {{"Retry-After", "0"}})});
  const ChatReply reply = ask(server);
  EXPECT_EQ(reply.outcome, "server_error");
  EXPECT_EQ(reply.attempts, 3);
  EXPECT_EQ(reply.failed_attempts.size(), 2u);
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
      {raw(R"({"choices": [{"message": {"tool_calls": []}}]})"), "empty"},
      {raw(R"({"choices": [{"message": {"tool_calls": [{"function": {"arguments": ""}}]}}]})"),
       "empty"},
      {raw(R"({"choices": [{"message": {"content": 7, "tool_calls": "x"}, "finish_reason": []}]})"),
       "empty"},
      {raw(R"({"choices": [{"message": {"content": "", "reasoning_content": "hm"}}]})"), "empty"},
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

TEST(ChatClient, TheKeyComesFromAFileWhereNoVariableIsSet) {
  const tests::TemporaryFolder folder;
  base::write_file_atomic(folder / "key", "file-canary-0042\n");
  ScriptedServer server({answer("you are file-canary-0042")});
  ChatOptions options = options_for(server.endpoint());
  options.key_variable = "WINDTUNNEL_TEST_UNSET";
  options.key_file = folder / "key";
  EXPECT_EQ(ask(options).content, "you are [key]");
  EXPECT_EQ(server.authorization(), "Bearer file-canary-0042");
}

}  // namespace
}  // namespace windtunnel::agent

// Everything that servers of language models are known to do wrong, in every dialect, whole and
// streamed: each has its typed outcome, no call outlives its deadline, no exception leaves, and the
// lineup always has a proposal. A few hundred turns; 10,000 with WINDTUNNEL_LONG=1.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "agent/chat_client.h"
#include "agent/proposer.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/agent/faulty_server.h"
#include "tests/agent/small_program.h"

namespace windtunnel::agent {
namespace {

using base::Json;
using testing::Exchange;
using testing::FaultyServer;

constexpr const char* kCanary = "fault-canary-5b0e71d2";
const std::string kText = "{\"word\": \"\xE6\xBC\xA2\xF0\x9F\x98\x80\"}";
// What a busy machine may add to a deadline.
constexpr double kSlackSeconds = 1.5;

Json whole_reply(const std::string& path, const Json& text) {
  if (path == "/v1/messages") {
    return {{"content", {{{"type", "text"}, {"text", text}}}}, {"stop_reason", "end_turn"}};
  }
  if (path == "/v1/responses") {
    const Json part = {{"type", "output_text"}, {"text", text}};
    const Json message = {{"type", "message"}, {"content", Json::array({part})}};
    return {{"status", "completed"}, {"output", Json::array({message})}};
  }
  const Json choice = {{"message", {{"content", text}}}, {"finish_reason", "stop"}};
  return {{"choices", Json::array({choice})}};
}

std::string data(const Json& event) { return "data: " + event.dump() + "\n\n"; }

std::string delta(const std::string& path, const std::string& text) {
  if (path == "/v1/messages") {
    return data({{"type", "content_block_delta"}, {"index", 0}, {"delta", {{"text", text}}}});
  }
  if (path == "/v1/responses")
    return data({{"type", "response.output_text.delta"}, {"delta", text}});
  const Json choice = {{"delta", {{"content", text}}}};
  return data({{"choices", Json::array({choice})}});
}

std::string end_mark(const std::string& path) {
  if (path == "/v1/messages") return data({{"type", "message_stop"}});
  if (path == "/v1/responses") return data({{"type", "response.completed"}, {"response", {}}});
  return "data: [DONE]\n\n";
}

void answer_well(const Exchange& to) {
  if (!to.stream) return to.reply(200, whole_reply(to.path, kText).dump());
  to.begin_stream();
  to.send(delta(to.path, kText) + end_mark(to.path));
}

/// Fails the first attempt, answers the second.
FaultyServer::Fault at_first(int status, const std::string& headers,
                             const std::string& body = "{}") {
  return [=](const Exchange& to) {
    if (to.attempt > 1) return answer_well(to);
    to.reply(status, body, headers);
  };
}

FaultyServer::Fault always(int status, const std::string& headers, const std::string& body = "{}") {
  return [=](const Exchange& to) { to.reply(status, body, headers); };
}

/// 200 with these bytes, as a stream if one was asked for.
FaultyServer::Fault says(const std::string& whole, const std::string& streamed) {
  return [=](const Exchange& to) {
    if (!to.stream) return to.reply(200, whole);
    to.begin_stream();
    to.send(streamed);
  };
}

void drip(const Exchange& to, const std::string& bytes, int milliseconds) {
  for (const char byte : bytes) {
    to.send(std::string(1, byte));
    if (!to.pause(milliseconds)) return;
  }
}

struct FaultCase {
  FaultyServer::Fault serve;
  /// Of a whole reply, and of a stream.
  std::string outcome;
  std::string streamed_outcome = {};
  /// Short where it is the deadline that ends the call.
  double deadline_seconds = 20;
};

const std::map<std::string, FaultCase>& faults() {
  constexpr double kShort = 0.3;
  static const std::map<std::string, FaultCase> all = {
      {"none", {answer_well, "ok"}},
      {"429, seconds", {at_first(429, "Retry-After: 0.01\r\n"), "ok"}},
      {"429, milliseconds", {at_first(429, "retry-after-ms: 5\r\n"), "ok"}},
      {"429, date", {at_first(429, "Retry-After: Wed, 21 Oct 2020 07:28:00 GMT\r\n"), "ok"}},
      {"429, old date", {at_first(429, "Retry-After: Wed Oct 21 07:28:00 2020\r\n"), "ok"}},
      {"429, ISO", {at_first(429, "Retry-After: 2020-10-21T07:28:00Z\r\n"), "ok"}},
      {"429, reset in a duration", {at_first(429, "x-ratelimit-reset-tokens: 12ms\r\n"), "ok"}},
      {"429, nonsense",
       {always(429, "Retry-After: soon\r\nx-should-retry: false\r\n"), "rate_limited"}},
      {"429, an hour", {always(429, "Retry-After: 3600\r\n"), "rate_limited"}},
      {"429, reset in days",
       {always(429, "anthropic-ratelimit-tokens-reset: 2099-01-01T00:00:00Z\r\n"), "rate_limited"}},
      {"429, money",
       {always(429, "Retry-After: 0\r\n", R"({"error": {"code": "insufficient_quota"}})"),
        "out_of_money"}},
      {"402", {always(402, ""), "out_of_money"}},
      {"400, money",
       {always(400, "", R"({"error": {"message": "Your credit balance is too low"}})"),
        "out_of_money"}},
      {"5xx burst", {always(502, "Retry-After: 0\r\n", "<html>bad gateway"), "server_error"}},
      {"500 once", {at_first(500, "Retry-After: 0\r\n"), "ok"}},
      {"529", {always(529, "retry-after-ms: 5\r\n"), "overloaded"}},
      {"503, a quarter of an hour", {always(503, "Retry-After: 900\r\n"), "overloaded"}},
      {"400, schema unknown",
       {at_first(400, "",
                 R"({"error": {"message": "unsupported: response_format, text.format, )"
                 R"(output_config, json_schema"}})"),
        "ok"}},
      {"400, too long",
       {always(400, "", R"({"error": {"code": "context_length_exceeded"}})"), "too_long"}},
      {"401 with the key", {always(401, "", std::string("wrong key ") + kCanary), "rejected"}},
      {"redirect", {always(302, "Location: http://127.0.0.1:1/\r\n"), "rejected"}},
      {"stalled",
       {[](const Exchange& to) {
          to.begin_stream();
          to.send(to.stream ? delta(to.path, "{\"wo") : "{\"choices\": [");
          to.pause(60'000);
        },
        "slow", "stalled", kShort}},
      {"closed in the middle",
       {[](const Exchange& to) {
          to.send(std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: ") +
                  (to.stream ? "text/event-stream" : "application/json") + "\r\n\r\n");
          to.chunk(to.stream ? delta(to.path, "{\"wo") : "{\"choices\": [");
        },
        "broken"}},
      {"closed without an end mark",
       {[](const Exchange& to) {
          if (!to.stream) return to.reply(200, "{\"choices\": [");
          to.begin_stream();
          to.send(delta(to.path, "{\"wo"));
        },
        "malformed", "broken"}},
      {"closed after whole content",
       {[](const Exchange& to) {
          if (!to.stream) return answer_well(to);
          to.begin_stream();
          to.send(delta(to.path, kText));
        },
        "ok"}},
      {"error behind 200",
       {says(R"({"error": {"message": "CUDA is lost"}})",
             "event: error\ndata: {\"type\": \"error\", \"error\": {\"message\": \"lost\"}}\n\n"),
        "server_error"}},
      {"overload behind 200",
       {says(R"({"error": {"type": "overloaded_error"}})",
             "data: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\"}}\n\n"),
        "overloaded"}},
      {"torn JSON",
       {says("{\"choices\": [{\"mess", "data: {\"choices\": [{\"del\n\n"), "malformed"}},
      {"web page", {says("<!doctype html>", "<!doctype html>\n\n"), "html"}},
      {"wrong types",
       {[](const Exchange& to) {
          to.reply(200, R"({"choices": {"0": 1}, "content": 7, "output": "x", "usage": []})");
        },
        "malformed"}},
      {"text of a wrong type",
       {[](const Exchange& to) { to.reply(200, whole_reply(to.path, 12).dump()); }, "empty"}},
      {"empty tool call",
       {[](const Exchange& to) {
          Json reply = whole_reply(to.path, "");
          if (reply.contains("choices"))
            reply["choices"][0]["message"]["tool_calls"] = Json::array();
          to.reply(200, reply.dump());
        },
        "empty"}},
      {"nested for ever",
       {says(std::string(1 << 18, '['), "data: " + std::string(1 << 18, '[') + "\n\n"),
        "malformed"}},
      {"giant line",
       {says("\"" + std::string(3 << 20, 'x'),
             "data: {\"choices\": \"" + std::string(3 << 20, 'x')),
        "malformed"}},
      {"characters torn apart",
       {[](const Exchange& to) {
          if (!to.stream) return to.reply(200, whole_reply(to.path, kText).dump());
          to.begin_stream();
          drip(to, delta(to.path, kText) + end_mark(to.path), 0);
        },
        "ok"}},
      {"slow drip",
       {[](const Exchange& to) {
          to.begin_stream();
          drip(to, ": " + std::string(10'000, 'x'), 20);
        },
        "slow", "slow", kShort}},
      {"silence", {[](const Exchange& to) { to.pause(60'000); }, "slow", "slow", kShort}},
      {"hang up", {[](const Exchange&) {}, "broken"}},
      {"no HTTP", {[](const Exchange& to) { to.send("\x16\x03\x01 what?\r\n\r\n"); }, "broken"}}};
  return all;
}

int64_t turns(int64_t quick, int64_t thorough) {
  const char* is_long = std::getenv("WINDTUNNEL_LONG");
  return is_long && *is_long == '1' ? thorough : quick;
}

struct Draw {
  std::string name;
  std::string api;
  bool stream = false;
  /// Two where a second one helps, and once for each that it does not.
  int64_t attempts = 1;
};

/// Every combination once, then by chance.
Draw draw(int64_t turn, base::RandomStream& random) {
  std::vector<std::string> names;
  for (const auto& [name, fault] : faults()) names.push_back(name);
  const std::vector<std::string> apis = Dialects::instance().names();
  const auto each = static_cast<int64_t>(names.size());
  const bool in_turn = turn < 2 * each;
  Draw drawn{.name = names[in_turn ? static_cast<size_t>(turn % each) : random.below(names.size())],
             .api = apis[random.below(apis.size())],
             .stream = in_turn ? turn >= each : random.below(2) == 1,
             .attempts = 2};
  if (!in_turn && faults().at(drawn.name).outcome != chat_outcome::kOk) drawn.attempts = 1;
  return drawn;
}

ChatOptions options_of(const FaultyServer& server, const Draw& drawn, double deadline,
                       int64_t attempts) {
  ::setenv("WINDTUNNEL_TEST_FAULT_KEY", kCanary, 1);
  return {.endpoint = server.endpoint(),
          .model = "faulty",
          .api = drawn.api,
          .key_variable = "WINDTUNNEL_TEST_FAULT_KEY",
          .timeout_seconds = deadline,
          .idle_timeout_seconds = 0.1,
          .max_attempts = attempts,
          .max_retry_wait_seconds = 5,
          .streaming = drawn.stream ? "on" : "off"};
}

TEST(LlmFaults, EachHasItsTypedOutcomeWithinItsDeadline) {
  FaultyServer server;
  base::RandomStream random(1, "faults");
  double latest = -HUGE_VAL;
  const int64_t count = turns(160, 10'000);
  for (int64_t turn = 0; turn < count; ++turn) {
    const Draw drawn = draw(turn, random);
    const FaultCase& fault = faults().at(drawn.name);
    SCOPED_TRACE(drawn.name + ", " + drawn.api + (drawn.stream ? ", stream" : ""));
    server.set(fault.serve);
    const double start = base::monotonic_seconds();
    ChatReply reply;
    ASSERT_NO_THROW({
      reply = ChatClient(options_of(server, drawn, fault.deadline_seconds, drawn.attempts))
                  .ask({{"user", "go"}}, {{"type", "object"}});
    });
    const double late = base::monotonic_seconds() - start - fault.deadline_seconds;
    if (reply.outcome == chat_outcome::kSlow) latest = std::max(latest, late);
    ASSERT_LT(late, kSlackSeconds);
    const bool has_own = drawn.stream && !fault.streamed_outcome.empty();
    ASSERT_EQ(reply.outcome, has_own ? fault.streamed_outcome : fault.outcome) << reply.message;
    ASSERT_EQ(reply.message.empty(), reply.ok());
    if (reply.ok()) {
      ASSERT_EQ(reply.content, kText);
    }
    ASSERT_EQ(
        (reply.message + reply.content + reply.request.dump() + reply.reply.dump()).find(kCanary),
        std::string::npos);
  }
  std::cout << count << " turns; the latest call that reached its deadline was "
            << base::format_number(1000 * latest, 3) << " ms past it\n";
}

TEST(LlmFaults, TheLineupAlwaysHasAProposal) {
  FaultyServer server;
  base::RandomStream random(2, "faults");
  const int64_t count = turns(100, 2'000);
  std::map<std::string, int64_t> proposers;
  for (int64_t turn = 0; turn < count; ++turn) {
    const Draw drawn = draw(2 * std::ssize(faults()) + turn, random);
    const FaultCase& fault = faults().at(drawn.name);
    SCOPED_TRACE(drawn.name + ", " + drawn.api);
    server.set(fault.serve);
    Json entry = base::to_json(options_of(server, drawn, fault.deadline_seconds, drawn.attempts));
    entry["kind"] = "language_model";
    Program program = testing::small_program();
    program.proposers = {entry};
    std::vector<study::LlmCall> calls;
    ProposerLineup lineup(program,
                          {.add_llm_call = [&](const auto& call) { calls.push_back(call); }});
    const Json incumbent = testing::baseline_of(program);
    std::optional<study::Proposal> proposal;
    ASSERT_NO_THROW(proposal = lineup.propose({program, incumbent, {}, {}, {}, {}}));
    ASSERT_TRUE(proposal);
    ++proposers[proposal->proposer];
    // None of these servers has anything to propose.
    ASSERT_EQ(proposal->proposer, "random");
    ASSERT_FALSE(calls.empty());
    ASSERT_EQ(calls.front().outcome.empty(), false);
  }
}

}  // namespace
}  // namespace windtunnel::agent

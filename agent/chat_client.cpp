#include "agent/chat_client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "agent/foreign_json.h"
#include "agent/http.h"
#include "agent/retry_after.h"
#include "agent/token_estimate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/secrets.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;

namespace {

// As the vendors' own clients wait: half a second, doubled each time, at most eight, up to a
// quarter less by chance, so that clients that failed together do not come back together.
constexpr double kFirstWaitSeconds = 0.5;
constexpr double kLongestWaitSeconds = 8;
constexpr double kJitter = 0.25;
constexpr size_t kLongestStoredReply = 4000;
// Below that a question is too short for its tokens to tell anything.
constexpr int64_t kLeastTokensToCompare = 500;

const Dialect& dialect_of(const ChatOptions& options, const ModelProfile& profile) {
  const std::string otherwise = profile.works() ? profile.api : "chat_completions";
  return Dialects::instance()
      .get(options.api == "auto" ? otherwise : options.api, "api of a language model")
      .entry;
}

/// What a profile found to work, or everything that may.
std::vector<std::string> worth_trying(const std::vector<std::string>& known,
                                      const std::string& proven, bool is_proven) {
  if (!is_proven) return known;
  return proven.empty() || proven == structured::kNone ? std::vector<std::string>()
                                                       : std::vector<std::string>{proven};
}

ChatOptions checked(ChatOptions options) {
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  std::vector<base::Problem> problems = chat_option_problems(options);
  if (const std::string rule = url_problem(options.endpoint); options.endpoint.empty()) {
    problems.push_back({"endpoint", "\"\"", rule});
  }
  if (!problems.empty()) throw base::ConfigError("language model", problems);
  return options;
}

bool looks_like_html(const HttpReply& http) {
  return base::trim(http.body).starts_with("<") ||
         http.header("content-type").find("text/html") != std::string::npos;
}

/// By its type, or by its look where the type is wrong.
bool is_stream(const HttpReply& http) {
  const std::string_view body = base::trim(http.body);
  return http.header("content-type").find("text/event-stream") != std::string::npos ||
         body.starts_with("data:") || body.starts_with("event:");
}

/// What a stream adds up to.
struct StreamReader {
  const Dialect& dialect;
  EventStream events = {};
  Json reply = nullptr;
  StreamStep last = StreamStep::kMore;

  /// False when nothing that follows matters.
  bool add(const std::vector<StreamEvent>& new_events) {
    for (const StreamEvent& event : new_events) {
      last = fold_event(dialect, event, reply);
      if (last != StreamStep::kMore) return false;
    }
    return !events.overflowed();
  }
  /// The stream has ended; an event that its end tore is none.
  void finish() {
    if (last != StreamStep::kMore) return;
    add(events.finish());
    if (last == StreamStep::kTorn) last = StreamStep::kMore;
  }
};

bool is_whole_object(const std::string& content) { return parse_foreign(content).is_object(); }

/// Anything that went through a server, without keys.
Json redacted(const Json& value) {
  const std::string text = base::redact_tokens(print_foreign(value));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  // A key of digits may have stood where a number was.
  return json.is_discarded() ? Json(text) : json;
}

std::optional<double> price(const ChatOptions& options, int64_t prompt, int64_t completion) {
  if (!options.dollars_per_million_prompt_tokens) return std::nullopt;
  return (static_cast<double>(prompt) * *options.dollars_per_million_prompt_tokens +
          static_cast<double>(completion) * *options.dollars_per_million_completion_tokens) /
         1e6;
}

}  // namespace

ChatClient::ChatClient(const ChatOptions& options, const ModelProfile& profile, ChatHooks hooks)
    : options_(checked(options)),
      hooks_(std::move(hooks)),
      key_(read_key(options_)),
      dialect_(dialect_of(options_, profile)),
      jitter_(static_cast<uint64_t>(::getpid()) ^
                  static_cast<uint64_t>(base::monotonic_seconds() * 1e6),
              "retries") {
  const bool is_proven = profile.works() && (options_.api == "auto" || options_.api == profile.api);
  structured_ = options_.structured == "auto"
                    ? worth_trying(dialect_.structured, profile.structured, is_proven)
                    : worth_trying(dialect_.structured, options_.structured, true);
  token_limits_ = worth_trying(dialect_.token_limits, profile.token_limit,
                               is_proven && !dialect_.needs_token_limit);
  stream_ =
      options_.streaming == "auto" ? is_proven && profile.streaming : options_.streaming == "on";
}

Question ChatClient::question(const std::vector<ChatMessage>& messages, const Json& schema) const {
  return {.model = options_.model,
          .messages = messages,
          .schema = schema,
          .structured = structured_form(),
          .stream = stream_,
          .stream_usage = stream_usage_,
          .max_completion_tokens = options_.max_completion_tokens,
          .token_limit = token_limit()};
}

std::string ChatClient::structured_form() const {
  return structured_.empty() ? structured::kNone : structured_.front();
}

std::string ChatClient::token_limit() const {
  return token_limits_.empty() ? "" : token_limits_.front();
}

/// After a refusal: gives up what it names. What it names is what the request holds, so that a
/// message that recommends another name does not take that away.
bool ChatClient::give_up_what_is_refused(const std::string& complaint, const Json& request) {
  const auto speaks_of = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return complaint.find(word) != std::string::npos; });
  };
  for (const auto& [name, value] : options_.extra.items()) {
    if (!speaks_of({name.c_str()})) continue;
    options_.extra.erase(name);
    return true;
  }
  if (!token_limits_.empty() && !dialect_.needs_token_limit &&
      speaks_of({token_limits_.front().c_str()})) {
    token_limits_.erase(token_limits_.begin());
    return true;
  }
  if (request.contains("stream_options") && speaks_of({"stream_options", "include_usage"})) {
    stream_usage_ = false;
    return true;
  }
  const bool is_held = request.contains("response_format") || request.contains("tools") ||
                       request.contains("output_config") || request.contains("text");
  if (is_held && !structured_.empty() &&
      speaks_of({"format", "schema", "grammar", "tool", "output_config", "param"})) {
    structured_.erase(structured_.begin());
    return true;
  }
  if (stream_ && speaks_of({"stream"})) {
    stream_ = false;
    return true;
  }
  return false;
}

WorstCase ChatClient::worst_case(const Question& question) const {
  WorstCase most{.completion_tokens = question.max_completion_tokens};
  for (const ChatMessage& message : question.messages) {
    most.prompt_tokens += most_tokens(message.content);
  }
  most.prompt_tokens += most_tokens(print_foreign(question.schema));
  most.dollars = price(options_, most.prompt_tokens, most.completion_tokens);
  return most;
}

/// A request that was refused, or did not arrive, is not charged; one that may have been worked on
/// is, at its worst where the server did not say.
void ChatClient::settle(const WorstCase& reserved, const HttpReply& http, ChatReply& reply) const {
  Settlement settlement{.reserved = reserved,
                        .prompt_tokens = reply.prompt_tokens,
                        .completion_tokens = reply.completion_tokens};
  const bool was_worked_on =
      http.failure != HttpReply::Failure::kNoConnection && (http.status == 200 || http.status == 0);
  if (!was_worked_on) settlement.prompt_tokens = settlement.completion_tokens = 0;
  settlement.dollars = price(options_, settlement.prompt_tokens.value_or(reserved.prompt_tokens),
                             settlement.completion_tokens.value_or(reserved.completion_tokens));
  if (settlement.dollars) reply.dollars = reply.dollars.value_or(0) + *settlement.dollars;
  hooks_.settle(settlement);
}

void ChatClient::read_reply(const HttpReply& http, const Json& body, ChatReply& reply) {
  if (body.is_discarded()) {
    reply.outcome = chat_outcome::kMalformed;
    reply.message = "it answered with something that is no JSON: " + clean_line(http.body);
  } else {
    dialect_.read(body, reply);
  }
}

ChatClient::Attempt ChatClient::failed(ServerFailure failure, const HttpReply& http,
                                       const Json& body, ChatReply& reply) {
  const bool is_bad_request =
      http.status == 400 || http.status == 422 || http.status == 500 || http.status == 501;
  const bool is_about_us =
      failure.outcome == chat_outcome::kRejected || failure.outcome == chat_outcome::kServerError;
  reply.outcome = failure.outcome;
  reply.message = std::move(failure.message);
  reply.context_tokens = failure.context_tokens;
  if (is_bad_request && is_about_us &&
      give_up_what_is_refused(complaint_of(body, http.body), reply.request)) {
    return {.adapted = true};
  }
  if (http.status == 401 && key_.empty() && !options_.key_variable.empty()) {
    reply.message += " (the environment variable " + options_.key_variable + " is not set)";
  }
  return {.may_retry = failure.may_retry,
          .asked_wait_seconds = asked_wait_seconds(http.headers, std::chrono::system_clock::now())};
}

ChatClient::Attempt ChatClient::attempt(const Question& question, double seconds_left,
                                        ChatReply& reply) {
  const double start = base::monotonic_seconds();
  reply.content.clear();
  reply.finish.clear();
  reply.prompt_tokens.reset();
  reply.completion_tokens.reset();
  reply.request = dialect_.body(question);
  for (const auto& [name, value] : options_.extra.items()) reply.request[name] = value;
  StreamReader reader{dialect_};
  HttpRequest http{.url = options_.endpoint + dialect_.path,
                   .headers = dialect_.headers(key_),
                   .body = print_foreign(reply.request),
                   .connect_timeout_seconds = options_.connect_timeout_seconds,
                   .timeout_seconds = seconds_left,
                   .on_wait = [&] {
                     const double before = options_.timeout_seconds - seconds_left;
                     hooks_.on_wait({.what = "language model",
                                     .seconds_so_far = before + base::monotonic_seconds() - start,
                                     .limit_seconds = options_.timeout_seconds});
                   }};
  http.headers.push_back("Content-Type: application/json");
  http.headers.push_back(question.stream ? "Accept: text/event-stream, application/json"
                                         : "Accept: application/json");
  if (question.stream) {
    http.idle_timeout_seconds = options_.idle_timeout_seconds;
    http.on_piece = [&](std::string_view piece) { return reader.add(reader.events.add(piece)); };
  }
  const WorstCase reserved = worst_case(question);
  if (!hooks_.reserve(reserved)) {
    reply.outcome = chat_outcome::kNoBudget;
    reply.message = "the budget does not allow the worst case of the call";
    return {};
  }
  const HttpReply answer = http_send(http);
  const bool streamed = is_stream(answer);
  reply.streamed = streamed;
  // Some stream what was asked for whole.
  if (streamed && !question.stream) reader.add(reader.events.add(answer.body));
  if (streamed) reader.finish();
  const Json body = streamed ? reader.reply : parse_foreign(answer.body);
  reply.reply = body.is_discarded() || (streamed && body.is_null())
                    ? Json(base::shorten(answer.body, kLongestStoredReply))
                    : body;

  Attempt result;
  const bool has_error = body.is_object() && !value_at(body, "error").is_null();
  if (has_error || (answer.failure == HttpReply::Failure::kNone && answer.status != 200)) {
    result = failed(failure_of_reply(answer, body), answer, body, reply);
  } else if (answer.status == 200 && looks_like_html(answer)) {
    reply.outcome = chat_outcome::kHtml;
    reply.message = "it answered with a web page, not JSON";
  } else if (streamed && reader.last == StreamStep::kTorn) {
    reply.outcome = chat_outcome::kMalformed;
    reply.message = "an event of its stream is no JSON";
  } else if (streamed && reader.events.overflowed()) {
    reply.outcome = chat_outcome::kMalformed;
    reply.message = "a line of its stream is longer than " +
                    std::to_string(EventStream::kLongestLine) + " bytes";
  } else {
    if (streamed || answer.failure == HttpReply::Failure::kNone) read_reply(answer, body, reply);
    // Only a whole reply has an end; a stream shows it by a mark, a reason, or whole content.
    const bool has_end = streamed ? reader.last == StreamStep::kEnd || !reply.finish.empty() ||
                                        is_whole_object(reply.content)
                                  : answer.failure == HttpReply::Failure::kNone;
    if (!has_end && answer.failure != HttpReply::Failure::kNone) {
      result = failed(failure_of_transport(answer), answer, body, reply);
    } else if (!has_end) {
      reply.outcome = chat_outcome::kBroken;
      reply.message = "its stream ended without an end mark";
      result.may_retry = true;
    }
  }
  settle(reserved, answer, reply);
  return result;
}

void ChatClient::wait(double seconds, double start) {
  const double end = base::monotonic_seconds() + seconds;
  for (;;) {
    base::stop_if_interrupted();
    const double now = base::monotonic_seconds();
    if (now >= end) return;
    hooks_.on_wait({.what = "language model",
                    .seconds_so_far = now - start,
                    .limit_seconds = options_.timeout_seconds});
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(end - now, 0.1)));
  }
}

ChatReply ChatClient::ask(const std::vector<ChatMessage>& messages, const Json& schema) {
  const double start = base::monotonic_seconds();
  const auto left = [&] { return options_.timeout_seconds - (base::monotonic_seconds() - start); };
  ChatReply reply;
  for (;;) {
    ++reply.attempts;
    const Attempt tried = attempt(question(messages, schema), left(), reply);
    const bool is_unreached = reply.outcome == chat_outcome::kDown ||
                              reply.outcome == chat_outcome::kBroken ||
                              reply.outcome == chat_outcome::kStalled;
    if (reply.outcome == chat_outcome::kSlow || (is_unreached && left() <= 0)) {
      reply.outcome = chat_outcome::kSlow;
      reply.message = "no answer within " + base::format_duration(options_.timeout_seconds);
      break;
    }
    if (tried.adapted) {
      // Bounded: each time there is less to give up.
      --reply.attempts;
      continue;
    }
    const bool is_busy =
        reply.outcome == chat_outcome::kRateLimited || reply.outcome == chat_outcome::kOverloaded;
    const double backoff =
        std::min(kLongestWaitSeconds,
                 kFirstWaitSeconds * std::pow(2.0, static_cast<double>(reply.attempts - 1)));
    const double pause =
        tried.asked_wait_seconds.value_or(backoff * (1 - kJitter * jitter_.uniform()));
    if (is_busy) reply.retry_after_seconds = pause;
    if (!tried.may_retry || reply.attempts >= options_.max_attempts) break;
    if (pause > options_.max_retry_wait_seconds || pause >= left()) {
      reply.message += " (a retry would have to wait " + base::format_duration(pause) + ")";
      break;
    }
    reply.failed_attempts.push_back(reply.outcome + ": " + reply.message + ", waited " +
                                    base::format_duration(pause));
    wait(pause, start);
  }

  reply.seconds = base::monotonic_seconds() - start;
  if (!reply.message.empty()) {
    reply.message = "language model at " + options_.endpoint + ": " + reply.message;
  }
  int64_t least = 0;
  for (const ChatMessage& message : messages) least += fewest_tokens(message.content);
  reply.prompt_was_cut = reply.has_answer() && least >= kLeastTokensToCompare &&
                         reply.prompt_tokens && *reply.prompt_tokens < least;
  for (std::string* text : {&reply.message, &reply.content, &reply.finish}) {
    *text = base::redact_tokens(std::move(*text));
  }
  reply.request = redacted(reply.request);
  reply.reply = redacted(reply.reply);
  return reply;
}

}  // namespace windtunnel::agent

#include "agent/chat_client.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "agent/http.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "study/runner.h"

namespace windtunnel::agent {

using base::Json;

namespace {

using chat_outcome::kOk, chat_outcome::kDown, chat_outcome::kSlow, chat_outcome::kRateLimited,
    chat_outcome::kOutOfMoney, chat_outcome::kServerError, chat_outcome::kRejected,
    chat_outcome::kHtml, chat_outcome::kMalformed, chat_outcome::kEmpty, chat_outcome::kTruncated,
    chat_outcome::kRefusal;

/// Shorter values are placeholders such as "none"; replacing those would garble ordinary words.
constexpr size_t kShortestSecret = 8;
constexpr size_t kLongestQuote = 300;
/// Parameters that servers are known to refuse, in the order in which they are given up.
const std::vector<std::string> kOptionalParameters = {"response_format", "max_completion_tokens"};

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

/// Valid UTF-8 on one line: what a server sends ends up in the journal and on terminals.
std::string clean(const std::string& text) {
  std::string line = base::shorten(text, kLongestQuote);
  for (char& letter : line) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = ' ';
  }
  return Json::parse(Json(line).dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// Parsed, or discarded: also where brackets are nested so deep that walking the value would end
/// the stack.
Json parse_reply(const std::string& body) {
  constexpr int kMaxDepth = 200;
  int depth = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '"') {
      for (++i; i < body.size() && body[i] != '"'; ++i) {
        if (body[i] == '\\') ++i;
      }
    } else if (body[i] == '[' || body[i] == '{') {
      if (++depth > kMaxDepth) return Json(Json::value_t::discarded);
    } else if (body[i] == ']' || body[i] == '}') {
      --depth;
    }
  }
  return Json::parse(body, nullptr, /*allow_exceptions=*/false);
}

/// Waits, but not through Ctrl-C.
void wait_seconds(double seconds) {
  const double end = base::monotonic_seconds() + seconds;
  for (;;) {
    base::stop_if_interrupted();
    const double left = end - base::monotonic_seconds();
    if (left <= 0) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.1)));
  }
}

std::string text_at(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The server's words about an error, in any of the forms in use: {"error": {"message"}},
/// {"error": "text"}, {"message"}, plain text.
std::string complaint_of(const Json& reply, const std::string& body) {
  if (reply.is_object() && reply.contains("error")) {
    const Json& error = reply["error"];
    if (error.is_string()) return error.get<std::string>();
    const std::string message = text_at(error, "message");
    return message.empty() ? error.dump(-1, ' ', false, Json::error_handler_t::replace) : message;
  }
  const std::string message = text_at(reply, "message");
  return message.empty() ? body : message;
}

/// A 429 that no waiting cures.
bool is_about_money(const Json& reply) {
  if (!reply.is_object() || !reply.contains("error")) return false;
  const Json& error = reply["error"];
  const std::string code = text_at(error, "code") + " " + text_at(error, "type");
  for (const char* word : {"insufficient_quota", "credit_balance", "spend_limit",
                           "usage_limit_exceeded", "billing", "payment"}) {
    if (code.find(word) != std::string::npos) return true;
  }
  return false;
}

bool looks_like_html(const HttpReply& reply) {
  return base::trim(reply.body).starts_with("<") ||
         reply.header("content-type").find("text/html") != std::string::npos;
}

/// Text of a message: a string, or the text parts of a list.
std::string content_of(const Json& message) {
  if (!message.is_object() || !message.contains("content")) return "";
  const Json& content = message["content"];
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (content.is_array()) {
    for (const Json& part : content) text += text_at(part, "text");
  }
  return text;
}

std::optional<int64_t> count_at(const Json& reply, const char* key) {
  const Json* value = base::find_path(reply, std::string("usage.") + key);
  if (!value || !value->is_number_integer()) return std::nullopt;
  return value->get<int64_t>();
}

/// Reads a reply with status 200.
void read_completion(const HttpReply& http, const Json& body, ChatReply& reply) {
  const auto end = [&](const char* outcome, std::string message) {
    reply.outcome = outcome;
    reply.message = std::move(message);
  };
  if (looks_like_html(http)) return end(kHtml, "it answered with a web page, not JSON");
  if (body.is_discarded()) {
    return end(kMalformed, "it answered with something that is no JSON: " + clean(http.body));
  }
  if (body.is_object() && body.contains("error") && !body["error"].is_null()) {
    return end(kServerError, "it reported an error: " + clean(complaint_of(body, http.body)));
  }
  reply.prompt_tokens = count_at(body, "prompt_tokens");
  reply.completion_tokens = count_at(body, "completion_tokens");
  if (!body.is_object() || !body.contains("choices") || !body["choices"].is_array() ||
      body["choices"].empty() || !body["choices"][0].is_object() ||
      !body["choices"][0].value("message", Json()).is_object()) {
    return end(kMalformed, "its reply has no choices[0].message");
  }
  const Json& choice = body["choices"][0];
  const Json& message = choice["message"];
  const std::string refusal = text_at(message, "refusal");
  const std::string reason = text_at(choice, "finish_reason");
  reply.content = content_of(message);
  if (!refusal.empty() || reason == "content_filter") {
    reply.content.clear();
    return end(kRefusal,
               "the model refused: " + clean(refusal.empty() ? "content filter" : refusal));
  }
  if (reason == "length") return end(kTruncated, "the answer was cut off at its token limit");
  if (base::trim(reply.content).empty()) return end(kEmpty, "the answer holds no text");
  end(kOk, "");
}

}  // namespace

std::optional<double> retry_after_seconds(const std::string& retry_after_ms,
                                          const std::string& retry_after,
                                          std::chrono::system_clock::time_point now) {
  const auto number = [](const std::string& text) -> std::optional<double> {
    if (text.empty()) return std::nullopt;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (*end != '\0' || !std::isfinite(value) || value < 0) return std::nullopt;
    return value;
  };
  if (const auto value = number(retry_after_ms)) return *value / 1000;
  if (const auto value = number(retry_after)) return *value;
  std::tm date = {};
  // The one form servers send: "Wed, 21 Oct 2026 07:28:00 GMT".
  const char* end = ::strptime(retry_after.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (!end || *end != '\0') return std::nullopt;
  const auto then = std::chrono::system_clock::from_time_t(::timegm(&date));
  return std::max(0.0, std::chrono::duration<double>(then - now).count());
}

ChatClient::ChatClient(const ChatOptions& options) : options_(options) {
  while (options_.endpoint.ends_with('/')) options_.endpoint.pop_back();
  const std::string rule = url_problem(options_.endpoint);
  if (!rule.empty()) {
    throw base::ConfigError("language model", {{"endpoint", options_.endpoint, rule}});
  }
  if (options_.key_variable.empty()) return;
  study::keep_from_children(options_.key_variable);
  const char* key = std::getenv(options_.key_variable.c_str());
  key_ = key ? std::string(base::trim(key)) : "";
  const auto is_control = [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; };
  if (std::any_of(key_.begin(), key_.end(), is_control)) {
    throw base::ConfigError("language model", {{"key_variable", options_.key_variable,
                                                "holds a key with control characters"}});
  }
}

std::string ChatClient::redact(std::string text) const {
  if (key_.size() < kShortestSecret) return text;
  replace_all(text, key_, "[key]");
  const std::string escaped = Json(key_).dump();
  replace_all(text, escaped.substr(1, escaped.size() - 2), "[key]");
  return text;
}

Json ChatClient::body(const std::vector<ChatMessage>& messages, const Json& schema) const {
  Json body = {{"model", options_.model}, {"messages", Json::array()}};
  for (const ChatMessage& message : messages) {
    body["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  body["max_completion_tokens"] = options_.max_completion_tokens;
  if (!schema.is_null()) {
    // Not strict: the strict subset has no open ranges and no optional paths. The caller checks.
    body["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", "answer"}, {"strict", false}, {"schema", schema}}}};
  }
  for (const std::string& name : dropped_parameters_) body.erase(name);
  return body;
}

/// After a 400: gives up the parameter it names, or without a name the first that may be given up.
bool ChatClient::drop_unknown_parameter(const std::string& complaint, const Json& body) {
  const auto drop = [&](const std::string& name) {
    dropped_parameters_.push_back(name);
    return true;
  };
  for (const std::string& name : kOptionalParameters) {
    if (body.contains(name) && complaint.find(name) != std::string::npos) return drop(name);
  }
  const bool speaks_of_format = complaint.find("schema") != std::string::npos ||
                                complaint.find("param") != std::string::npos ||
                                complaint.find("grammar") != std::string::npos;
  if (speaks_of_format && body.contains("response_format")) return drop("response_format");
  return false;
}

ChatReply ChatClient::ask(const std::vector<ChatMessage>& messages, const Json& schema) {
  const double start = base::monotonic_seconds();
  const auto left = [&] { return options_.timeout_seconds - (base::monotonic_seconds() - start); };
  const std::string server = "language model at " + options_.endpoint;
  ChatReply reply;
  HttpRequest http{.url = options_.endpoint + "/chat/completions",
                   .headers = {"Content-Type: application/json", "Accept: application/json"},
                   .connect_timeout_seconds = options_.connect_timeout_seconds};
  if (!key_.empty()) http.headers.push_back("Authorization: Bearer " + key_);

  for (;;) {
    ++reply.attempts;
    reply.request = body(messages, schema);
    http.body = reply.request.dump(-1, ' ', false, Json::error_handler_t::replace);
    http.timeout_seconds = left();
    const HttpReply answer = http_post(http);
    const Json json = parse_reply(answer.body);
    reply.reply = json.is_discarded() ? Json(base::shorten(answer.body, 4000)) : json;
    const std::string words = clean(complaint_of(json, answer.body));

    bool may_retry = false;
    const bool is_late = answer.failure != HttpReply::Failure::kNone && left() <= 0;
    if (answer.failure == HttpReply::Failure::kTimedOut || is_late) {
      reply.outcome = kSlow;
      reply.message = "no answer within " + base::format_duration(options_.timeout_seconds);
    } else if (answer.failure == HttpReply::Failure::kTooLarge) {
      reply.outcome = kMalformed;
      reply.message = answer.message;
    } else if (answer.failure == HttpReply::Failure::kNoConnection) {
      reply.outcome = kDown;
      reply.message = answer.message;
      may_retry = true;
    } else if (answer.status == 200) {
      read_completion(answer, json, reply);
    } else if ((answer.status == 429 && is_about_money(json)) || answer.status == 402) {
      reply.outcome = kOutOfMoney;
      reply.message = words;
    } else if (answer.status == 429) {
      reply.outcome = kRateLimited;
      reply.message = words;
      may_retry = true;
    } else if (answer.status == 408 || answer.status == 409 || answer.status >= 500) {
      reply.outcome = kServerError;
      reply.message = "status " + std::to_string(answer.status) + ": " + words;
      may_retry = true;
    } else {
      const bool is_bad_request = answer.status == 400 || answer.status == 422;
      if (is_bad_request && drop_unknown_parameter(words, reply.request) && left() > 0) continue;
      reply.outcome = kRejected;
      reply.message = "status " + std::to_string(answer.status) + ": " + words;
      if (answer.status == 401 && key_.empty() && !options_.key_variable.empty()) {
        reply.message += " (the environment variable " + options_.key_variable + " is not set)";
      }
    }
    if (answer.header("x-should-retry") == "false") may_retry = false;
    if (!may_retry || reply.attempts >= options_.max_attempts) break;

    const auto asked =
        retry_after_seconds(answer.header("retry-after-ms"), answer.header("retry-after"),
                            std::chrono::system_clock::now());
    const double backoff =
        std::min(8.0, 0.5 * std::pow(2.0, static_cast<double>(reply.attempts - 1)));
    const double wait = asked.value_or(backoff);
    if (wait > options_.max_retry_wait_seconds || wait >= left()) {
      reply.message += " (a retry would have to wait " + base::format_duration(wait) + ")";
      break;
    }
    wait_seconds(wait);
  }

  reply.seconds = base::monotonic_seconds() - start;
  if (!reply.message.empty()) reply.message = redact(server + ": " + reply.message);
  reply.content = redact(reply.content);
  for (Json* part : {&reply.request, &reply.reply}) {
    const std::string text = redact(part->dump(-1, ' ', false, Json::error_handler_t::replace));
    *part = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    // A key of digits may have stood where a number was.
    if (part->is_discarded()) *part = text;
  }
  return reply;
}

}  // namespace windtunnel::agent

#include "agent/server_failure.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "agent/chat.h"
#include "agent/foreign_json.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;

namespace {

// Of an error's `code` and `type`.
const std::vector<std::string> kMoneyCodes = {"insufficient_quota",
                                              "credit_balance",
                                              "spend_limit",
                                              "spending_limit",
                                              "billing",
                                              "payment",
                                              "insufficient_credit",
                                              "insufficient_balance",
                                              "usage_limit_exceeded"};
// Of its message: some say it with status 400 and no code.
const std::vector<std::string> kMoneyWords = {"credit balance",       "spending limit",
                                              "spend limit",          "insufficient balance",
                                              "insufficient credits", "insufficient_quota"};
const std::vector<std::string> kTooLongWords = {
    "context_length_exceeded", "exceed_context_size", "context size",     "context length",
    "context window",          "prompt is too long",  "request_too_large"};
const std::vector<std::string> kOverloadCodes = {"overloaded", "unavailable_error", "slow_down",
                                                 "server_overload"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

bool holds_one_of(const std::string& text, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const auto& word) { return text.find(word) != std::string::npos; });
}

/// The first number of a few digits or more behind `words`.
std::optional<int64_t> number_after(const std::string& text, std::string_view words) {
  size_t at = text.find(words);
  if (at == std::string::npos) return std::nullopt;
  at = text.find_first_of("0123456789", at + words.size());
  if (at == std::string::npos) return std::nullopt;
  const long long value = std::strtoll(text.c_str() + at, nullptr, 10);
  return value >= 100 && value < 1'000'000'000 ? std::optional<int64_t>(value) : std::nullopt;
}

/// llama.cpp tells it in a field, others in words: "maximum context length is 4096 tokens",
/// "200000 maximum" is not guessed.
std::optional<int64_t> context_in(const Json& error, const std::string& words) {
  if (const auto told = count_at(error, "n_ctx")) return told;
  for (const char* before : {"maximum context length is", "context window of", "context size ("}) {
    if (const auto told = number_after(words, before)) return told;
  }
  return std::nullopt;
}

}  // namespace

std::string complaint_of(const Json& body, const std::string& text) {
  const Json& error = value_at(body, "error");
  if (error.is_string()) return error.get<std::string>();
  for (const Json* place : {&error, &body}) {
    for (const char* key : {"message", "detail"}) {
      const std::string words = text_at(*place, key);
      if (!words.empty()) return words;
    }
  }
  return error.is_null() ? text : print_foreign(error);
}

ServerFailure failure_of_transport(const HttpReply& http) {
  using Failure = HttpReply::Failure;
  const std::string words = clean_line(http.message);
  switch (http.failure) {
    case Failure::kTimedOut:
      return {.outcome = chat_outcome::kSlow, .message = words};
    case Failure::kStalled:
      return {.outcome = chat_outcome::kStalled, .message = words, .may_retry = true};
    case Failure::kTooLarge:
      return {.outcome = chat_outcome::kMalformed, .message = words};
    case Failure::kBroken:
      return {.outcome = chat_outcome::kBroken, .message = words, .may_retry = true};
    case Failure::kNone:
    case Failure::kNoConnection:
      break;
  }
  return {.outcome = chat_outcome::kDown, .message = words, .may_retry = true};
}

ServerFailure failure_of_reply(const HttpReply& http, const Json& body) {
  const Json& error = value_at(body, "error");
  const std::string words = complaint_of(body, http.body);
  const std::string codes = lower(text_at(error, "code") + " " + text_at(error, "type"));
  const std::string text = lower(base::shorten(words, 2000));
  const int status = http.status;

  ServerFailure failure;
  const bool is_inside_reply = status == 200;
  failure.message =
      (is_inside_reply ? "it reported an error: " : "status " + std::to_string(status) + ": ") +
      clean_line(words);
  const std::string request = http.header("x-request-id") + http.header("request-id");
  if (!request.empty()) failure.message += " (request " + clean_line(request) + ")";

  const bool is_limit = status == 429 || codes.find("rate_limit") != std::string::npos;
  if (status == 402 || holds_one_of(codes, kMoneyCodes) || holds_one_of(text, kMoneyWords)) {
    failure.outcome = chat_outcome::kOutOfMoney;
  } else if (!is_limit && (status == 413 || holds_one_of(codes + text, kTooLongWords))) {
    failure.outcome = chat_outcome::kTooLong;
    failure.context_tokens = context_in(error, text);
  } else if (status == 529 || status == 503 || holds_one_of(codes, kOverloadCodes)) {
    failure.outcome = chat_outcome::kOverloaded;
    failure.may_retry = true;
  } else if (is_limit) {
    failure.outcome = chat_outcome::kRateLimited;
    failure.may_retry = true;
  } else if (status == 408 || status == 409 || status >= 500 ||
             (is_inside_reply && codes.find("invalid_request") == std::string::npos)) {
    failure.outcome = chat_outcome::kServerError;
    failure.may_retry = true;
  } else {
    failure.outcome = chat_outcome::kRejected;
  }
  const std::string should_retry = http.header("x-should-retry");
  const bool is_final =
      failure.outcome == chat_outcome::kOutOfMoney || failure.outcome == chat_outcome::kTooLong;
  if (should_retry == "false") failure.may_retry = false;
  if (should_retry == "true" && !is_final) failure.may_retry = true;
  return failure;
}

}  // namespace windtunnel::agent

#pragma once
// What a client of a language model asks and tells while it works: money before and after each
// request, and that it waits.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace windtunnel::agent {

/// The most that one request can use.
struct WorstCase {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  /// Null without prices.
  std::optional<double> dollars;
};

/// What a request did use.
struct Settlement {
  WorstCase reserved;
  /// Null where the server may have worked but did not say how much; 0 where it did not get to
  /// work.
  std::optional<int64_t> prompt_tokens;
  std::optional<int64_t> completion_tokens;
  /// What is charged: with missing tokens, what was reserved for them. Null without prices.
  std::optional<double> dollars;
};

struct Waiting {
  /// "language model", "overloaded language model".
  std::string what;
  double seconds_so_far = 0;
  double limit_seconds = 0;
};

struct ChatHooks {
  /// Before each request, retries too. False: the budget does not allow it, nothing is sent.
  std::function<bool(const WorstCase&)> reserve = [](const WorstCase&) { return true; };
  /// After each request that was reserved; not after an interruption, which leaves it reserved.
  std::function<void(const Settlement&)> settle = [](const Settlement&) {};
  /// Several times a second while an answer, a retry or a pause is waited for.
  std::function<void(const Waiting&)> on_wait = [](const Waiting&) {};
};

}  // namespace windtunnel::agent

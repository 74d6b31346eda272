#pragma once
// How long a server asks to be left alone, in every form in use.

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace windtunnel::agent {

/// The wait that headers (names in lower case) ask for, relative to `now`: `retry-after-ms`, else
/// `retry-after`, else the largest of the headers that say when a limit is reset
/// (`x-ratelimit-reset-requests`, `x-ratelimit-reset-tokens`, `anthropic-ratelimit-...-reset`,
/// ...). Each may be seconds, a duration ("1m30s", "500ms"), seconds since 1970, an HTTP date in
/// any of its three forms or an ISO 8601 time. nullopt if there is none that makes sense: negative
/// and unreadable values are ignored, and so is a reset of 0, which some servers always send.
///
/// Units:   seconds, >= 0.
/// Source:  RFC 9110, 5.6.7 and 10.2.3, for dates and Retry-After; the others are the vendors'.
std::optional<double> asked_wait_seconds(const std::map<std::string, std::string>& headers,
                                         std::chrono::system_clock::time_point now);

}  // namespace windtunnel::agent

#include "agent/retry_after.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

namespace windtunnel::agent {
namespace {

using Time = std::chrono::system_clock::time_point;

/// A number at the start of `text`, which moves behind it.
std::optional<double> take_number(const char*& text) {
  // Neither "inf" nor "nan".
  if (*text == '\0' || std::strchr("0123456789.-", *text) == nullptr) return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(text, text + std::strlen(text), value);
  if (read.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  text = read.ptr;
  return value;
}

double seconds_until(std::time_t then, Time now) {
  const auto time = std::chrono::system_clock::from_time_t(then);
  return std::max(0.0, std::chrono::duration<double>(time - now).count());
}

/// "90", "-1", and times since 1970 in seconds or milliseconds, which no wait is as long as.
std::optional<double> plain_seconds(const std::string& text, Time now) {
  const char* rest = text.c_str();
  const auto value = take_number(rest);
  if (!value || *rest != '\0' || *value < 0) return std::nullopt;
  if (*value < 1e9) return *value;
  const double since_1970 = *value < 1e12 ? *value : *value / 1000;
  return std::max(0.0, since_1970 - std::chrono::duration<double>(now.time_since_epoch()).count());
}

/// "1m30s", "500ms", "1h0m2.5s".
std::optional<double> duration(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e-3}, {"us", 1e-6}, {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}};
  double seconds = 0;
  const char* rest = text.c_str();
  while (*rest != '\0') {
    const auto value = take_number(rest);
    if (!value || *value < 0) return std::nullopt;
    const auto* const unit = std::find_if(
        std::begin(kUnits), std::end(kUnits),
        [&](const auto& known) { return std::string_view(rest).starts_with(known.first); });
    if (unit == std::end(kUnits)) return std::nullopt;
    rest += unit->first.size();
    seconds += *value * unit->second;
  }
  return text.empty() ? std::nullopt : std::optional(seconds);
}

std::optional<double> http_date(const std::string& text, Time now) {
  for (const char* form :
       {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
    std::tm date = {};
    const char* end = ::strptime(text.c_str(), form, &date);
    if (end && *end == '\0') return seconds_until(::timegm(&date), now);
  }
  return std::nullopt;
}

/// "2026-10-21T07:28:00Z", "2026-10-21T07:28:00.25+02:00".
std::optional<double> iso_time(const std::string& text, Time now) {
  std::tm date = {};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &date);
  if (!rest) return std::nullopt;
  if (*rest == '.') rest += 1 + std::strspn(rest + 1, "0123456789");
  long offset_seconds = 0;
  if (std::strcmp(rest, "Z") != 0) {
    std::tm zone = {};
    const char* end = ::strptime(rest, "%z", &zone);
    if (!end || *end != '\0') return std::nullopt;
    offset_seconds = zone.tm_gmtoff;
  }
  return seconds_until(::timegm(&date) - offset_seconds, now);
}

std::optional<double> wait_of(const std::string& text, Time now) {
  if (const auto value = plain_seconds(text, now)) return value;
  if (const auto value = duration(text)) return value;
  if (const auto value = http_date(text, now)) return value;
  return iso_time(text, now);
}

bool is_reset(std::string_view name) {
  return name.find("ratelimit") != std::string_view::npos &&
         name.find("reset") != std::string_view::npos;
}

}  // namespace

std::optional<double> asked_wait_seconds(const std::map<std::string, std::string>& headers,
                                         Time now) {
  if (const auto found = headers.find("retry-after-ms"); found != headers.end()) {
    const char* rest = found->second.c_str();
    const auto value = take_number(rest);
    if (value && *rest == '\0' && *value >= 0) return *value / 1000;
  }
  if (const auto found = headers.find("retry-after"); found != headers.end()) {
    if (const auto value = wait_of(found->second, now)) return value;
  }
  std::optional<double> longest;
  for (const auto& [name, text] : headers) {
    if (!is_reset(name)) continue;
    const auto value = wait_of(text, now);
    if (value && *value > 0) longest = std::max(longest.value_or(0), *value);
  }
  return longest;
}

}  // namespace windtunnel::agent

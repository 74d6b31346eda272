#pragma once
// Numbers as the report prints them, in text, tables and Markdown alike. A missing number is
// kMissing, never 0.

#include <optional>
#include <string>

#include "base/json.h"

namespace windtunnel::report {

inline constexpr const char* kMissing = "-";

/// The value if there is one and it is finite.
std::optional<double> finite(std::optional<double> value);

/// Bits per byte: "2.9361".
std::string bits(std::optional<double> value);
/// A difference of bits per byte, always with its sign: "-0.0340".
std::string change(std::optional<double> value);
/// "[-0.0600, +0.0200]"; kMissing unless both ends are there.
std::string change_interval(std::optional<double> low, std::optional<double> high);
/// "[1.9812, 2.1034]"; kMissing unless both ends are there.
std::string bits_interval(std::optional<double> low, std::optional<double> high);
/// 0.042 -> "4.2 %"; `with_sign` -> "+4.2 %".
std::string percent(std::optional<double> fraction, bool with_sign = false);
/// base::format_count, base::format_duration and base::format_number, or kMissing.
std::string count(std::optional<double> value);
std::string duration(std::optional<double> seconds);
std::string number(std::optional<double> value, int significant_digits = 4);

/// "1 run", "3 runs".
std::string plural(int64_t amount, const std::string& noun);

/// A stored name for people: "not_identified" -> "not identified".
std::string words(std::string_view name);

/// A configuration value on one line: strings bare, everything else as JSON.
std::string value_text(const base::Json& value);

/// One line: control characters and line breaks become spaces, bytes that are no UTF-8 become
/// U+FFFD. All text from outside passes through here.
std::string one_line(std::string_view text);
/// As one_line, but keeps line breaks.
std::string clean_text(std::string_view text);

}  // namespace windtunnel::report

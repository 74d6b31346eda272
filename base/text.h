#pragma once
// Words for people: numbers with sensible digits, durations, lists, the nearest known word.

#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::base {

/// "0.02", "1.5e+09": the shortest of a few digits that a person needs.
std::string format_number(double value, int significant_digits = 6);

/// "37.4k", "1.83M", "553.7M", "2.0G".
std::string format_count(double value);

/// "850 ms", "12.3 s", "4 min 05 s", "2 h 10 min".
std::string format_duration(double seconds);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// At most `limit` bytes, cut at a UTF-8 boundary with "..." at the end.
std::string shorten(std::string_view text, size_t limit);

/// The word of `known` within two edits of `word`, or "" if none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

/// Columns aligned to their widest cell; the first row is the heading. Numbers align right.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace windtunnel::base

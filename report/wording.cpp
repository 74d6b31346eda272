#include "report/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace windtunnel::report {
namespace {

/// Length of the well-formed UTF-8 sequence at `at`, or 0.
size_t sequence_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                        : first >= 0xE0 && first <= 0xEF ? 3
                        : first >= 0xF0 && first <= 0xF4 ? 4
                                                         : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool too_large = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

std::string clean(std::string_view text, bool keep_lines) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    const auto first = static_cast<unsigned char>(text[at]);
    if (length == 0) {
      result += "\xEF\xBF\xBD";
      ++at;
    } else if (length == 1 && (first < 0x20 || first == 0x7F)) {
      result += keep_lines && first == '\n' ? '\n' : ' ';
      ++at;
    } else {
      result += text.substr(at, length);
      at += length;
    }
  }
  return std::string(base::trim(result));
}

}  // namespace

std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string bits(std::optional<double> value) {
  return finite(value) ? fmt::format("{:.4f}", *value) : kMissing;
}

std::string change(std::optional<double> value) {
  return finite(value) ? fmt::format("{:+.4f}", *value) : kMissing;
}

std::string change_interval(std::optional<double> low, std::optional<double> high) {
  return finite(low) && finite(high) ? "[" + change(low) + ", " + change(high) + "]" : kMissing;
}

std::string bits_interval(std::optional<double> low, std::optional<double> high) {
  return finite(low) && finite(high) ? "[" + bits(low) + ", " + bits(high) + "]" : kMissing;
}

std::string percent(std::optional<double> fraction, bool with_sign) {
  if (!finite(fraction)) return kMissing;
  return with_sign ? fmt::format("{:+.1f} %", *fraction * 100)
                   : fmt::format("{:.1f} %", *fraction * 100);
}

std::string count(std::optional<double> value) {
  return finite(value) ? base::format_count(*value) : kMissing;
}

std::string duration(std::optional<double> seconds) {
  return finite(seconds) ? base::format_duration(*seconds) : kMissing;
}

std::string number(std::optional<double> value, int significant_digits) {
  return finite(value) ? base::format_number(*value, significant_digits) : kMissing;
}

std::string plural(int64_t amount, const std::string& noun) {
  return std::to_string(amount) + " " + noun + (amount == 1 ? "" : "s");
}

std::string words(std::string_view name) {
  std::string text = one_line(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string value_text(const base::Json& value) {
  using base::Json;
  if (value.is_string()) return one_line(value.get<std::string>());
  return one_line(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string one_line(std::string_view text) { return clean(text, false); }

std::string clean_text(std::string_view text) { return clean(text, true); }

}  // namespace windtunnel::report

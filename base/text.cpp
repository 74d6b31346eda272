#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace windtunnel::base {
namespace {

template <class... Values>
std::string print(const char* format, Values... values) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

size_t columns_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

bool looks_numeric(const std::string& cell) {
  return !cell.empty() && cell.find_first_of("0123456789") != std::string::npos &&
         cell.find_first_not_of("0123456789.+-eE%kMGTx ") == std::string::npos;
}

}  // namespace

std::string format_number(double value, int significant_digits) {
  return print("%.*g", significant_digits, value);
}

std::string format_count(double value) {
  const std::pair<double, const char*> units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  // A name for more would be read by few, and all digits by none.
  if (!(std::abs(value) < 1e16)) return format_number(value, 4);
  for (const auto& [scale, suffix] : units) {
    if (std::abs(value) < scale * 0.9995) continue;
    const double scaled = value / scale;
    return print(scaled < 9.995 ? "%.2f%s" : "%.1f%s", scaled, suffix);
  }
  return print("%.0f", value);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 1) return print("%.0f ms", seconds * 1e3);
  if (seconds < 60) return print("%.1f s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return print("%lld min %02lld s", whole / 60, whole % 60);
  return print("%lld h %02lld min", whole / 3600, whole % 3600 / 60);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  const char* space = " \t\r\n";
  const size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string shorten(std::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit > 3 ? limit - 3 : 0;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = 3;
  for (const std::string& candidate : known) {
    std::vector<size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t substitute = diagonal + (word[i - 1] != candidate[j - 1] ? 1 : 0);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    // A word of three letters is within two edits of any other; ask for at least half to agree.
    if (row.back() < best_distance && row.back() * 2 <= candidate.size()) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  std::vector<bool> numeric;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < rows[r].size(); ++c) {
      if (c == widths.size()) {
        widths.push_back(0);
        numeric.push_back(true);
      }
      widths[c] = std::max(widths[c], columns_of(rows[r][c]));
      if (r > 0 && !rows[r][c].empty() && rows[r][c] != "-") {
        numeric[c] = numeric[c] && looks_numeric(rows[r][c]);
      }
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - columns_of(row[c]), ' ');
      if (c > 0) line += "  ";
      line += numeric[c] ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace windtunnel::base

#include "corpus/markup.h"

#include <cstdint>
#include <cstdlib>
#include <unordered_map>

#include "base/text.h"

namespace windtunnel::corpus {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

size_t indent_of(std::string_view line) {
  const size_t at = line.find_first_not_of(" \t");
  return at == std::string_view::npos ? line.size() : at;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

void append_utf8(std::string& text, uint32_t code) {
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

bool append_entity(std::string& text, std::string_view name) {
  // The markup characters and the punctuation that documentation uses; letters with accents are
  // written as themselves or as numbers nowadays.
  static const std::unordered_map<std::string_view, uint32_t> known = {
      {"amp", '&'},      {"lt", '<'},       {"gt", '>'},        {"quot", '"'},
      {"apos", '\''},    {"nbsp", ' '},     {"copy", 0xA9},     {"reg", 0xAE},
      {"trade", 0x2122}, {"mdash", 0x2014}, {"ndash", 0x2013},  {"hellip", 0x2026},
      {"lsquo", 0x2018}, {"rsquo", 0x2019}, {"ldquo", 0x201C},  {"rdquo", 0x201D},
      {"laquo", 0xAB},   {"raquo", 0xBB},   {"bull", 0x2022},   {"middot", 0xB7},
      {"times", 0xD7},   {"larr", 0x2190},  {"rarr", 0x2192},   {"le", 0x2264},
      {"ge", 0x2265},    {"ne", 0x2260},    {"deg", 0xB0},      {"para", 0xB6},
      {"sect", 0xA7},    {"plusmn", 0xB1},  {"micro", 0xB5},    {"eacute", 0xE9},
      {"uuml", 0xFC},    {"ouml", 0xF6},    {"auml", 0xE4},     {"szlig", 0xDF},
      {"zwnj", 0x200C},  {"shy", 0xAD},     {"thinsp", 0x2009}, {"minus", 0x2212}};
  if (name.size() > 1 && name[0] == '#') {
    const bool is_hex = name[1] == 'x' || name[1] == 'X';
    const std::string digits(name.substr(is_hex ? 2 : 1));
    char* end = nullptr;
    const unsigned long code = std::strtoul(digits.c_str(), &end, is_hex ? 16 : 10);
    if (digits.empty() || *end != '\0') return false;
    append_utf8(text, code == 0xA0 ? ' ' : static_cast<uint32_t>(std::min(code, 0x110000UL)));
    return true;
  }
  const auto found = known.find(name);
  if (found == known.end()) return false;
  append_utf8(text, found->second);
  return true;
}

std::vector<std::string> tidy_document(std::string_view text) {
  std::string result;
  size_t blank_lines = 0;
  for (std::string_view line : lines_of(text)) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (line.empty()) {
      ++blank_lines;
      continue;
    }
    if (blank_lines > 0 && !result.empty()) result += '\n';
    blank_lines = 0;
    result += line;
    result += '\n';
  }
  if (is_blank(result)) return {};
  return {std::move(result)};
}

}  // namespace windtunnel::corpus

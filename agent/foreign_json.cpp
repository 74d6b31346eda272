#include "agent/foreign_json.h"

#include "base/secrets.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;

namespace {

constexpr int kMaxDepth = 200;
constexpr size_t kLongestQuote = 300;
const Json kNull;

}  // namespace

Json parse_foreign(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (text[i] == '[' || text[i] == '{') {
      if (++depth > kMaxDepth) return Json(Json::value_t::discarded);
    } else if (text[i] == ']' || text[i] == '}') {
      --depth;
    }
  }
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string text_at(const Json& object, const char* key) {
  const Json& value = value_at(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

const Json& value_at(const Json& object, const char* key) {
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

const Json& first_of(const Json& array) {
  return array.is_array() && !array.empty() ? array.front() : kNull;
}

std::optional<int64_t> count_at(const Json& object, const char* path) {
  const Json* value = base::find_path(object, path);
  if (!value || !value->is_number_integer()) return std::nullopt;
  const auto count = value->get<int64_t>();
  return count >= 0 ? std::optional(count) : std::nullopt;
}

std::string clean_line(std::string_view text) {
  // Before it is shortened: half a key is not recognised.
  std::string line = base::shorten(base::redact_tokens(std::string(text)), kLongestQuote);
  for (char& letter : line) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = ' ';
  }
  return Json::parse(print_foreign(Json(line)));
}

std::string print_foreign(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace windtunnel::agent

#include "agent/fenced.h"

#include "base/text.h"

namespace windtunnel::agent {

using base::Json;

std::string fenced_json(const Json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  for (size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    text.replace(at, 1, "\\u0060");
  }
  return text;
}

namespace {

/// "" if there is no bare object and no single fenced block.
std::string json_in(std::string_view answer) {
  const std::string_view think_end = "</think>";
  const size_t thought = answer.rfind(think_end);
  if (thought != std::string_view::npos) answer.remove_prefix(thought + think_end.size());
  answer = base::trim(answer);
  if (answer.starts_with("{")) return std::string(answer);
  const size_t open = answer.find("```");
  if (open == std::string_view::npos) return "";
  const size_t start = answer.find('\n', open);
  const size_t close = start == std::string_view::npos ? start : answer.find("```", start);
  if (close == std::string_view::npos) return "";
  if (answer.find("```", close + 3) != std::string_view::npos) return "";
  return std::string(base::trim(answer.substr(start, close - start)));
}

}  // namespace

std::variant<Json, std::string> object_in(std::string_view answer) {
  using Object = std::variant<Json, std::string>;
  // JSON converts to and from strings, so each says which of the two it is.
  const auto wrong = [](const char* why) { return Object(std::in_place_type<std::string>, why); };
  const std::string text = json_in(answer);
  if (text.empty()) return wrong("it holds no JSON object, bare or in one fenced block");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return wrong("its JSON does not parse as one object");
  return Object(std::in_place_type<Json>, std::move(json));
}

}  // namespace windtunnel::agent

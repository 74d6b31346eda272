#include "scaling/row_filter.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace windtunnel::scaling {
namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Of text on the right of = or !=, which may hold an = itself ("model=d=96_l=8").
bool is_two_conditions(const std::string& value) {
  if (value.front() == '=') return true;
  for (const char* joint : {"<", ">", "!", " AND ", " OR ", "&&", "||"}) {
    if (value.find(joint) != std::string::npos) return true;
  }
  return false;
}

Condition parse_condition(std::string_view text, const std::string& whole) {
  const size_t at = text.find_first_of("<>=!");
  Condition condition;
  if (at != std::string_view::npos) {
    const size_t length = at + 1 < text.size() && text[at + 1] == '=' ? 2 : 1;
    condition.name = base::trim(text.substr(0, at));
    condition.comparison = text.substr(at, length);
    condition.value = base::trim(text.substr(at + length));
    if (condition.comparison == "==") condition.comparison = "=";
  }
  if (condition.name.empty() || condition.value.empty() || condition.comparison == "!") {
    throw base::UsageError("condition '" + std::string(base::trim(text)) + "' in '" + whole +
                           "' must be NAME<VALUE with one of < <= > >= = !=");
  }
  const bool is_equality = condition.comparison == "=" || condition.comparison == "!=";
  const bool is_quoted = condition.value.size() > 1 &&
                         (condition.value.front() == '\'' || condition.value.front() == '"') &&
                         condition.value.front() == condition.value.back();
  if (is_equality && is_quoted) {
    condition.value = condition.value.substr(1, condition.value.size() - 2);
    return condition;
  }
  condition.number = number_in(condition.value);
  // Also what should have been two conditions: "1e21 AND N>1e9".
  if (!condition.number && (!is_equality || is_two_conditions(condition.value))) {
    throw base::UsageError(
        "condition '" + std::string(base::trim(text)) + "' in '" + whole + "': '" +
        condition.value + "' is " + (is_equality ? "no value" : "not a number") +
        "; conditions are joined by 'and' and 'or', text is compared by = and !=");
  }
  return condition;
}

/// The parts between `word` where it stands alone.
std::vector<std::string> split_at_word(const std::string& text, const std::string& word) {
  std::vector<std::string> parts;
  const std::string mark = " " + word + " ";
  size_t from = 0;
  for (size_t at; (at = text.find(mark, from)) != std::string::npos; from = at + mark.size()) {
    parts.push_back(text.substr(from, at - from));
  }
  parts.push_back(text.substr(from));
  return parts;
}

bool is_ordering(const std::string& comparison) { return comparison != "=" && comparison != "!="; }

template <class Value>
bool compare(const Value& left, const std::string& comparison, const Value& right) {
  if (comparison == "<") return left < right;
  if (comparison == "<=") return left <= right;
  if (comparison == ">") return left > right;
  if (comparison == ">=") return left >= right;
  return comparison == "=" ? left == right : left != right;
}

}  // namespace

RowFilter RowFilter::parse(const std::string& text) {
  RowFilter filter;
  filter.text = text;
  if (base::trim(text).empty()) return filter;
  for (const std::string& group : split_at_word(text, "or")) {
    filter.groups.emplace_back();
    for (const std::string& part : split_at_word(group, "and")) {
      filter.groups.back().push_back(parse_condition(part, text));
    }
  }
  return filter;
}

bool RowFilter::passes(const std::function<std::string(const std::string&)>& value_of) const {
  if (groups.empty()) return true;
  return std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
    return std::all_of(group.begin(), group.end(), [&](const Condition& condition) {
      const std::string value = value_of(condition.name);
      if (value.empty()) return condition.comparison == "!=";
      const auto number = number_in(value);
      if (number && condition.number) {
        return compare(*number, condition.comparison, *condition.number);
      }
      if (is_ordering(condition.comparison)) return false;
      return compare<std::string>(value, condition.comparison, condition.value);
    });
  });
}

std::vector<std::string> RowFilter::names() const {
  std::vector<std::string> result;
  for (const auto& group : groups) {
    for (const Condition& condition : group) {
      if (std::find(result.begin(), result.end(), condition.name) == result.end()) {
        result.push_back(condition.name);
      }
    }
  }
  return result;
}

}  // namespace windtunnel::scaling

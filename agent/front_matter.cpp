#include "agent/front_matter.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace windtunnel::agent {

using base::Error;
using base::Json;

namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxValues = 100'000;
/// The YAML starts below the first fence, and yaml-cpp counts from 0.
constexpr int kFirstLine = 2;

template <class Number>
bool parse_whole(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  // yaml-cpp tags quoted scalars "!" and plain ones "?".
  if (node.Tag() == "!") return text;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (text == ".inf" || text == ".Inf") return base::encode_number(HUGE_VAL);
  if (text == "-.inf" || text == "-.Inf") return base::encode_number(-HUGE_VAL);
  if (text == ".nan" || text == ".NaN") return base::encode_number(std::nan(""));
  if (!text.empty() &&
      (std::isdigit(static_cast<unsigned char>(text.back())) != 0 || text.back() == '.')) {
    const std::string digits = text.front() == '+' ? text.substr(1) : text;
    int64_t whole = 0;
    if (parse_whole(digits, whole)) return whole;
    double number = 0;
    if (parse_whole(digits, number)) {
      // 1e6 is a whole number to whoever writes it.
      const bool is_whole = digits.find('.') == std::string::npos && std::abs(number) < 1e15 &&
                            number == std::floor(number);
      return is_whole ? Json(static_cast<int64_t>(number)) : Json(number);
    }
  }
  return text;
}

class Converter {
 public:
  Converter(const std::string& subject, std::map<std::string, int>& lines)
      : subject_(subject), lines_(lines) {}

  Json convert(const YAML::Node& node, const std::string& path, int depth) {
    const int line = node.Mark().line + kFirstLine;
    if (depth > kMaxDepth) throw located(line, path, "is nested deeper than 64 levels");
    if (++values_ > kMaxValues) throw located(line, path, "is one of more than 100,000 values");
    lines_.try_emplace(path, line);
    const std::string prefix = path.empty() ? "" : path + ".";
    if (node.IsSequence()) {
      Json array = Json::array();
      for (const YAML::Node& item : node) {
        array.push_back(convert(item, prefix + std::to_string(array.size()), depth + 1));
      }
      return array;
    }
    if (node.IsMap()) {
      Json object = Json::object();
      for (const auto& pair : node) {
        const int key_line = pair.first.Mark().line + kFirstLine;
        if (!pair.first.IsScalar()) throw located(key_line, path, "has a key that is no text");
        const std::string& key = pair.first.Scalar();
        if (object.contains(key)) throw located(key_line, prefix + key, "is given twice");
        lines_[prefix + key] = key_line;
        object[key] = convert(pair.second, prefix + key, depth + 1);
      }
      return object;
    }
    return node.IsScalar() ? scalar(node) : Json(nullptr);
  }

 private:
  Error located(int line, const std::string& path, const std::string& what) const {
    return Error(subject_ + " line " + std::to_string(line) + ": " +
                 (path.empty() ? "the front matter" : path) + " " + what);
  }

  const std::string& subject_;
  std::map<std::string, int>& lines_;
  int values_ = 0;
};

/// The line that starts at `start`, without its line end; moves `start` behind it.
std::string_view next_line(std::string_view text, size_t& start) {
  const size_t end = std::min(text.find('\n', start), text.size());
  std::string_view line = text.substr(start, end - start);
  start = std::min(end + 1, text.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

int FrontMatter::line_of(std::string path) const {
  for (;;) {
    const auto found = lines.find(path);
    if (found != lines.end()) return found->second;
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) return kFirstLine;
    path.resize(dot);
  }
}

base::ConfigError FrontMatter::error(const std::string& subject,
                                     std::vector<base::Problem> problems) const {
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const auto& a, const auto& b) { return line_of(a.path) < line_of(b.path); });
  if (problems.size() == 1) {
    const std::string line = std::to_string(line_of(problems.front().path));
    return {subject + " line " + line, std::move(problems)};
  }
  for (base::Problem& problem : problems) {
    problem.path = "line " + std::to_string(line_of(problem.path)) + ": " + problem.path;
  }
  return {subject, std::move(problems)};
}

FrontMatter parse_front_matter(std::string_view markdown, const std::string& subject) {
  if (markdown.starts_with("\xEF\xBB\xBF")) markdown.remove_prefix(3);
  size_t position = 0;
  if (base::trim(next_line(markdown, position)) != "---") {
    throw Error(subject + " line 1: a program starts with a line of --- and its YAML front matter");
  }
  const size_t yaml_start = position;
  size_t yaml_end = std::string_view::npos;
  while (position < markdown.size()) {
    const size_t line_start = position;
    const std::string_view line = next_line(markdown, position);
    if (line.starts_with("---") && base::trim(line) == "---") {
      yaml_end = line_start;
      break;
    }
  }
  if (yaml_end == std::string_view::npos) {
    throw Error(subject + ": the front matter has no end; close it with a line of ---");
  }

  FrontMatter result;
  YAML::Node root;
  try {
    root = YAML::Load(std::string(markdown.substr(yaml_start, yaml_end - yaml_start)));
  } catch (const YAML::Exception& error) {
    throw Error(subject + " line " + std::to_string(error.mark.line + kFirstLine) + ", column " +
                std::to_string(error.mark.column + 1) + ": not valid YAML: " + error.msg);
  }
  if (!root.IsMap()) {
    throw Error(subject + " line 2: the front matter must be a list of `key: value` lines");
  }
  result.document = Converter(subject, result.lines).convert(root, "", 0);
  result.prose = std::string(base::trim(markdown.substr(position)));
  return result;
}

}  // namespace windtunnel::agent

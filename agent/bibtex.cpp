// BibTeX, as far as titles and abstracts need it: entries in braces or parentheses, values in
// braces, in quotation marks, bare, or joined with #; @string abbreviations; @comment and @preamble
// are passed over. Braces and the commonest TeX commands are taken out of the text.

#include <algorithm>
#include <cctype>
#include <map>

#include "agent/papers.h"
#include "base/error.h"
#include "base/text.h"

namespace windtunnel::agent {
namespace {

std::string lower(std::string text) {
  for (char& letter : text) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

/// "{\'E}tude of {GPU}s" -> "Etude of GPUs"; line breaks become spaces.
std::string without_tex(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto letter = static_cast<unsigned char>(text[i]);
    if (letter == '{' || letter == '}') continue;
    if (letter == '\\' && i + 1 < text.size()) {
      const auto next = static_cast<unsigned char>(text[i + 1]);
      if (std::isalpha(next) == 0) {
        // An escaped sign stays, an accent goes.
        if (std::string_view("&%$#_").find(text[i + 1]) != std::string_view::npos)
          plain += text[i + 1];
        ++i;
        continue;
      }
      while (i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0) ++i;
      if (i + 1 < text.size() && text[i + 1] == ' ') ++i;
      continue;
    }
    if (std::isspace(letter) != 0 || letter == '~') {
      if (!plain.empty() && plain.back() != ' ') plain += ' ';
    } else {
      plain += text[i];
    }
  }
  return std::string(base::trim(plain));
}

class BibtexReader {
 public:
  BibtexReader(std::string_view text, const std::string& subject)
      : text_(text), subject_(subject) {}

  std::vector<Paper> read() {
    std::vector<Paper> papers;
    while ((at_ = text_.find('@', at_)) != std::string_view::npos) {
      ++at_;
      const std::string type = lower(name());
      skip_space();
      if (type.empty() || (peek() != '{' && peek() != '(')) continue;  // an address, say
      const char close = text_[at_++] == '{' ? '}' : ')';
      if (type == "comment" || type == "preamble") {
        skip_to(close);
      } else if (type == "string") {
        field(strings_);
        expect(close);
      } else {
        papers.push_back(entry(close));
      }
    }
    return papers;
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const {
    const auto line =
        1 + std::count(text_.begin(),
                       text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())),
                       '\n');
    throw base::Error(subject_ + " line " + std::to_string(line) + ": " + rule);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  void expect(char sign) {
    skip_space();
    if (peek() != sign) fail(std::string("expected '") + sign + "'");
    ++at_;
  }
  /// Letters, digits and the signs that keys and field names may hold.
  std::string name() {
    skip_space();
    const size_t start = at_;
    while (at_ < text_.size() &&
           std::string_view("{}(),=\"#%@").find(text_[at_]) == std::string_view::npos &&
           std::isspace(static_cast<unsigned char>(text_[at_])) == 0) {
      ++at_;
    }
    return std::string(text_.substr(start, at_ - start));
  }

  /// What stands up to `close`, braces balanced; goes behind it.
  std::string_view skip_to(char close) {
    const size_t start = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char letter = text_[at_];
      if (letter == '\\') {
        ++at_;
        continue;
      }
      if (letter == close && depth == 0) return text_.substr(start, at_++ - start);
      if (letter == '{') ++depth;
      if (letter == '}') --depth;
    }
    at_ = start;
    fail(std::string("no closing '") + close + "'");
  }

  std::string value() {
    std::string joined;
    do {
      skip_space();
      if (peek() == '{' || peek() == '"') {
        const char close = text_[at_++] == '{' ? '}' : '"';
        joined += skip_to(close);
      } else {
        const std::string word = name();
        if (word.empty()) fail("expected a value in braces, in quotation marks, or a number");
        const auto known = strings_.find(lower(word));
        joined += known == strings_.end() ? word : known->second;
      }
      skip_space();
    } while (peek() == '#' && ++at_ != 0);
    return joined;
  }

  void field(std::map<std::string, std::string>& fields) {
    const std::string field_name = lower(name());
    if (field_name.empty()) fail("expected the name of a field");
    expect('=');
    fields[field_name] = value();
  }

  Paper entry(char close) {
    const std::string key = name();
    if (key.empty()) fail("an entry has no key");
    std::map<std::string, std::string> fields;
    for (skip_space(); peek() == ','; skip_space()) {
      ++at_;
      skip_space();
      if (peek() == close) break;
      field(fields);
    }
    if (peek() != close) fail("expected ',' or the end of entry '" + key + "'");
    ++at_;
    const std::string title = without_tex(fields["title"]);
    if (title.empty()) fail("entry '" + key + "' has no title");
    return {key, title, without_tex(fields["abstract"])};
  }

  std::string_view text_;
  const std::string& subject_;
  size_t at_ = 0;
  std::map<std::string, std::string> strings_;
};

}  // namespace

std::vector<Paper> parse_bibtex(std::string_view text, const std::string& subject) {
  return BibtexReader(text, subject).read();
}

}  // namespace windtunnel::agent

// HTML: the text a reader sees. Head, scripts, styles and navigation are dropped, block elements
// start lines, white space collapses except in <pre>.

#include <algorithm>
#include <cctype>

#include "corpus/extractor.h"
#include "corpus/markup.h"

namespace windtunnel::corpus {
namespace {

constexpr std::string_view kDropped[] = {"head", "script", "style", "nav", "svg", "template"};
constexpr std::string_view kParagraphs[] = {
    "p",  "div", "h1",    "h2",  "h3",      "h4",      "h5",         "h6", "ul",
    "ol", "dl",  "table", "pre", "section", "article", "blockquote", "hr"};
constexpr std::string_view kLines[] = {"br", "li", "tr", "dt", "dd", "option"};
constexpr std::string_view kCells[] = {"td", "th"};

template <size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return result;
}

/// Where "</name" begins at or after `from`; the end of the text if nowhere.
size_t find_end_tag(std::string_view html, size_t from, const std::string& name) {
  for (size_t at = from; (at = html.find("</", at)) != std::string_view::npos; at += 2) {
    if (lower(html.substr(at + 2, name.size())) == name) return at;
  }
  return html.size();
}

class Reader {
 public:
  explicit Reader(std::string_view html) : html_(html) {}

  std::string read() {
    while (at_ < html_.size()) {
      const char next = html_[at_];
      const char second = at_ + 1 < html_.size() ? html_[at_ + 1] : ' ';
      if (next == '<' && (std::isalpha(static_cast<unsigned char>(second)) || second == '/' ||
                          second == '!' || second == '?')) {
        tag();
      } else if (next == '&') {
        entity();
      } else {
        character(next);
        ++at_;
      }
    }
    return std::move(text_);
  }

 private:
  void tag() {
    if (html_.substr(at_, 4) == "<!--") {
      const size_t end = html_.find("-->", at_ + 4);
      at_ = end == std::string_view::npos ? html_.size() : end + 3;
      return;
    }
    size_t end = at_ + 1;
    for (char quote = 0; end < html_.size(); ++end) {
      const char next = html_[end];
      if (quote != 0) {
        if (next == quote) quote = 0;
      } else if (next == '"' || next == '\'') {
        quote = next;
      } else if (next == '>') {
        break;
      }
    }
    const bool closes = html_.substr(at_ + 1, 1) == "/";
    size_t name_end = at_ + (closes ? 2 : 1);
    const size_t name_begin = name_end;
    while (name_end < end && std::isalnum(static_cast<unsigned char>(html_[name_end]))) ++name_end;
    const std::string name = lower(html_.substr(name_begin, name_end - name_begin));
    at_ = std::min(end + 1, html_.size());

    if (!closes && is_one_of(name, kDropped)) {
      at_ = find_end_tag(html_, at_, name);
      return;
    }
    if (name == "pre") in_pre_ = !closes;
    if (is_one_of(name, kParagraphs)) {
      text_ += "\n\n";
    } else if (is_one_of(name, kLines) && (!closes || name == "tr")) {
      text_ += name == "li" ? "\n- " : "\n";
    } else if (is_one_of(name, kCells) && closes) {
      character(' ');
    }
  }

  void entity() {
    const size_t end = html_.find(';', at_);
    if (end != std::string_view::npos && end - at_ <= 10 &&
        append_entity(text_, html_.substr(at_ + 1, end - at_ - 1))) {
      at_ = end + 1;
    } else {
      text_ += html_[at_++];
    }
  }

  void character(char next) {
    if (!in_pre_ && std::isspace(static_cast<unsigned char>(next))) {
      if (!text_.empty() && !std::isspace(static_cast<unsigned char>(text_.back()))) text_ += ' ';
    } else {
      text_ += next;
    }
  }

  std::string_view html_;
  size_t at_ = 0;
  bool in_pre_ = false;
  std::string text_;
};

std::vector<std::string> documents(std::string_view bytes) {
  return tidy_document(Reader(bytes).read());
}

const base::Registration<Extractor> registration{
    {.name = "html", .summary = "HTML, the text a reader sees", .entry = {documents}}};

}  // namespace
}  // namespace windtunnel::corpus

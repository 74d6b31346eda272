// reStructuredText sources as a reader would see them: underlines, targets, comments and options of
// directives go, text and code stay, roles such as :func:`open` keep their text. Line by line with
// indentation, without building a document tree.
//
// Source: the reStructuredText markup specification of Docutils.

#include <cctype>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "corpus/extractor.h"
#include "corpus/markup.h"
#include "corpus/rst_inline.h"

namespace windtunnel::corpus {
namespace {

/// Directives without text for a reader; their block goes with them.
const std::unordered_set<std::string_view> kDropped = {"bibliography",   "contents",
                                                       "csv-table",      "currentmodule",
                                                       "default-domain", "figure",
                                                       "flat-table",     "graphviz",
                                                       "highlight",      "image",
                                                       "include",        "index",
                                                       "kernel-abi",     "kernel-doc",
                                                       "kernel-feat",    "kernel-figure",
                                                       "kernel-include", "kernel-render",
                                                       "literalinclude", "meta",
                                                       "module",         "moduleauthor",
                                                       "py:module",      "raw",
                                                       "role",           "section-numbering",
                                                       "sectionauthor",  "tabularcolumns",
                                                       "tabs",           "testsetup",
                                                       "toctree",        "DOT"};

/// Directives whose block is shown as it is.
const std::unordered_set<std::string_view> kLiteral = {
    "code", "code-block",     "sourcecode", "parsed-literal", "highlighted-code",
    "math", "productionlist", "doctest",    "testcode",       "testoutput"};

/// What stands before the argument of a directive that says something itself.
const std::unordered_map<std::string_view, std::string_view> kSpoken = {
    {"versionadded", "New in version "},
    {"versionchanged", "Changed in version "},
    {"deprecated", "Deprecated since version "},
    {"deprecated-removed", "Deprecated since version "},
    {"note", "Note: "},
    {"warning", "Warning: "},
    {"attention", "Attention: "},
    {"caution", "Caution: "},
    {"danger", "Danger: "},
    {"hint", "Hint: "},
    {"important", "Important: "},
    {"tip", "Tip: "},
    {"seealso", "See also: "}};

/// A line of one repeated punctuation character, as under titles, or the border of a table.
bool is_decoration(std::string_view line) {
  line = base::trim(line);
  if (line.size() < 3) return false;
  if (line[0] == '+' && line.find_first_not_of("+-=|") == line.npos) return true;
  if (line.find_first_not_of("= ") == line.npos || line.find_first_not_of("- ") == line.npos) {
    return line.find("--") != line.npos || line.find("==") != line.npos;
  }
  return std::ispunct(static_cast<unsigned char>(line[0])) != 0 &&
         line.find_first_not_of(line[0]) == line.npos;
}

/// The cells of a row "| a | b |" of a drawn table, in one line.
std::optional<std::string> table_row(std::string_view line) {
  const std::string_view row = base::trim(line);
  if (row.size() < 3 || row.front() != '|' || row.back() != '|') return std::nullopt;
  std::vector<std::string> cells;
  for (const std::string& cell : base::split(row.substr(1, row.size() - 2), '|')) {
    if (!is_blank(cell)) cells.emplace_back(base::trim(cell));
  }
  return base::join(cells, "  ");
}

struct Directive {
  std::string_view name;
  std::string_view argument;
};

/// ".. name:: argument"
std::optional<Directive> parse_directive(std::string_view markup) {
  const size_t colons = markup.find("::");
  if (colons == markup.npos || colons == 0) return std::nullopt;
  const std::string_view name = markup.substr(0, colons);
  for (const char letter : name) {
    const bool is_name = std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                         std::string_view("-_:+.").find(letter) != std::string_view::npos;
    if (!is_name) return std::nullopt;
  }
  return Directive{name, base::trim(markup.substr(colons + 2))};
}

class Reader {
 public:
  explicit Reader(std::string_view text) : lines_(lines_of(text)) {}

  std::string read() {
    while (at_ < lines_.size()) line();
    flush();
    return std::move(text_);
  }

 private:
  void line() {
    const std::string_view line = lines_[at_];
    const std::string_view words = line.substr(indent_of(line));
    if (words.empty()) {
      flush();
      text_ += '\n';
      ++at_;
    } else if (words == ".." || words.rfind(".. ", 0) == 0) {
      flush();
      ++at_;
      explicit_markup(words.size() > 3 ? base::trim(words.substr(3)) : "", indent_of(line));
    } else if (is_decoration(line)) {
      flush();
      ++at_;
    } else if (words == "::") {
      flush();
      ++at_;
      literal_block(indent_of(line));
    } else {
      ++at_;
      paragraph_line(line);
    }
  }

  void paragraph_line(std::string_view line) {
    if (auto row = table_row(line)) {
      paragraph_ += *row + "\n";
      return;
    }
    const std::string_view text = line.substr(0, line.find_last_not_of(" \t") + 1);
    const bool announces = text.size() > 2 && text.substr(text.size() - 2) == "::";
    paragraph_ += announces ? text.substr(0, text.size() - 1) : text;
    paragraph_ += '\n';
    const bool ends = at_ == lines_.size() || is_blank(lines_[at_]);
    if (announces && ends) {
      flush();
      literal_block(indent_of(line));
    }
  }

  void explicit_markup(std::string_view markup, size_t indent) {
    if (markup.rfind('[', 0) == 0) {  // a footnote or citation: ".. [1] text"
      const size_t end = markup.find(']');
      paragraph_ += base::trim(markup.substr(end == markup.npos ? markup.size() : end + 1));
      paragraph_ += '\n';
      return;
    }
    const auto directive = parse_directive(markup);
    if (!directive || kDropped.count(directive->name) > 0) {  // also comments and targets
      skip_block(indent);
      return;
    }
    const bool is_literal = kLiteral.count(directive->name) > 0;
    const auto spoken = kSpoken.find(directive->name);
    if (spoken != kSpoken.end()) paragraph_ += spoken->second;
    if (!is_literal) paragraph_ += directive->argument;
    if (!paragraph_.empty()) paragraph_ += '\n';
    options(indent);
    if (is_literal) literal_block(indent);
  }

  /// ":name: value" lines right under a directive.
  void options(size_t indent) {
    while (at_ < lines_.size()) {
      const std::string_view line = lines_[at_];
      const std::string_view words = line.substr(indent_of(line));
      const bool is_option = indent_of(line) > indent && words.size() > 2 && words[0] == ':' &&
                             words.find(':', 1) != words.npos && words.find(":`") == words.npos;
      if (!is_option) return;
      ++at_;
    }
  }

  bool in_block(size_t indent) const {
    return at_ < lines_.size() && (is_blank(lines_[at_]) || indent_of(lines_[at_]) > indent);
  }

  void skip_block(size_t indent) {
    while (in_block(indent)) ++at_;
    text_ += '\n';
  }

  void literal_block(size_t indent) {
    flush();
    text_ += '\n';
    for (; in_block(indent); ++at_) {
      text_ += lines_[at_];
      text_ += '\n';
    }
  }

  void flush() {
    text_ += without_inline_markup(paragraph_);
    paragraph_.clear();
  }

  std::vector<std::string_view> lines_;
  size_t at_ = 0;
  std::string paragraph_;
  std::string text_;
};

std::vector<std::string> documents(std::string_view bytes) {
  return tidy_document(Reader(bytes).read());
}

const base::Registration<Extractor> registration{
    {.name = "rst", .summary = "reStructuredText sources", .entry = {documents}}};

}  // namespace
}  // namespace windtunnel::corpus

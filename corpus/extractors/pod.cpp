// Perl's "plain old documentation": commands start with '=', indented paragraphs are code, and
// letters before angle brackets set type: B<bold>, C<code>, L<text|target>. In a program only the
// documentation between a command and =cut is read.
//
// Source: perlpodspec.

#include <cstdint>
#include <unordered_map>

#include "base/text.h"
#include "corpus/extractor.h"
#include "corpus/markup.h"

namespace windtunnel::corpus {
namespace {

/// Deeper codes are taken for text; nobody writes them.
constexpr int kDeepestNesting = 32;

/// What an E<name> stands for.
void append_escape(std::string& text, std::string_view name) {
  static const std::unordered_map<std::string_view, char> own = {{"sol", '/'}, {"verbar", '|'}};
  if (const auto found = own.find(name); found != own.end()) {
    text += found->second;
    return;
  }
  const bool is_number = !name.empty() && name.find_first_not_of("0123456789") == name.npos;
  const std::string entity = (is_number ? "#" : "") + std::string(name);
  if (!append_entity(text, entity)) text += name;
}

/// What a link shows: its text if it has one, else the page or the section.
std::string_view link_text(std::string_view link) {
  if (const size_t bar = link.find('|'); bar != link.npos) return link.substr(0, bar);
  if (link.find("://") != link.npos) return link;
  const size_t slash = link.find('/');
  if (slash == link.npos) return link;
  std::string_view section = link.substr(slash + 1);
  if (section.size() >= 2 && section.front() == '"' && section.back() == '"') {
    section = section.substr(1, section.size() - 2);
  }
  return section.empty() ? link.substr(0, slash) : section;
}

/// The text of a paragraph without its formatting codes.
class Formatter {
 public:
  explicit Formatter(std::string_view source) : source_(source) {}

  std::string all() {
    std::string text;
    until(text, "");
    return text;
  }

 private:
  /// Reads up to `close` (which it skips), or to the end.
  void until(std::string& text, const std::string& close) {
    while (at_ < source_.size()) {
      if (!close.empty() && source_.substr(at_, close.size()) == close) {
        at_ += close.size();
        return;
      }
      const char letter = source_[at_];
      const bool is_code = letter >= 'A' && letter <= 'Z' && source_.substr(at_ + 1, 1) == "<";
      if (!is_code || depth_ == kDeepestNesting) {
        text += letter;
        ++at_;
        continue;
      }
      code(text, letter);
    }
  }

  void code(std::string& text, char letter) {
    size_t brackets = 0;
    while (source_.substr(at_ + 1 + brackets, 1) == "<") ++brackets;
    const char after = at_ + 1 + brackets < source_.size() ? source_[at_ + 1 + brackets] : ' ';
    // Several brackets need white space inside, otherwise only the first belongs to the code.
    if (brackets > 1 && after != ' ' && after != '\n') brackets = 1;
    at_ += 1 + brackets;
    std::string inner;
    ++depth_;
    until(inner, std::string(brackets, '>'));
    --depth_;
    if (brackets > 1) inner = base::trim(inner);
    if (letter == 'E') {
      append_escape(text, inner);
    } else if (letter == 'L') {
      text += link_text(inner);
    } else if (letter != 'X' && letter != 'Z') {
      text += inner;
    }
  }

  std::string_view source_;
  size_t at_ = 0;
  int depth_ = 0;
};

std::vector<std::string> documents(std::string_view bytes) {
  std::string text;
  std::string paragraph;
  bool in_pod = false;
  std::string skipped_until;
  const auto finish = [&] {
    if (paragraph.empty()) return;
    if (paragraph[0] == '=') {
      const size_t space = paragraph.find_first_of(" \t\n");
      const std::string command = paragraph.substr(1, space == paragraph.npos ? space : space - 1);
      std::string rest(base::trim(space == paragraph.npos ? "" : paragraph.substr(space)));
      in_pod = command != "cut";
      if (command == "begin") {
        skipped_until = rest.substr(0, rest.find_first_of(" \n"));
      } else if (command == "end") {
        skipped_until.clear();
      } else if (skipped_until.empty() && (command.rfind("head", 0) == 0 || command == "item")) {
        if (command == "item" && rest == "*") rest = "-";
        text += Formatter(rest).all() + "\n\n";
      }
    } else if (in_pod && skipped_until.empty()) {
      const bool is_code = paragraph[0] == ' ' || paragraph[0] == '\t';
      text += (is_code ? paragraph : Formatter(paragraph).all()) + "\n";
    }
    paragraph.clear();
  };
  for (const std::string_view line : lines_of(bytes)) {
    if (is_blank(line)) {
      finish();
    } else {
      paragraph += line;
      paragraph += '\n';
    }
  }
  finish();
  return tidy_document(text);
}

const base::Registration<Extractor> registration{
    {.name = "pod", .summary = "Perl's plain old documentation", .entry = {documents}}};

}  // namespace
}  // namespace windtunnel::corpus

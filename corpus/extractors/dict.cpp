// Dictionaries of the dictd server: a word at the start of a line, its definition indented below
// it, then the next word. Every entry is a document. Cross references {so} and the "%%%" between
// the spellings of a head word lose their marks.
//
// Source: the data format of dictfmt(1).

#include "corpus/extractor.h"
#include "corpus/markup.h"

namespace windtunnel::corpus {
namespace {

/// A reference is a few words; longer braces are code that an entry quotes.
constexpr size_t kLongestReference = 80;

std::string without_marks(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 3) == "%%%") {
      result += ", ";
      at += 2;
    } else if (text[at] == '{') {
      const size_t end = text.find_first_of("{};", at + 1);
      const bool is_reference =
          end != std::string_view::npos && text[end] == '}' && end - at <= kLongestReference;
      if (is_reference) {
        result += text.substr(at + 1, end - at - 1);
        at = end;
      } else {
        result += '{';
      }
    } else {
      result += text[at];
    }
  }
  return result;
}

std::vector<std::string> documents(std::string_view bytes) {
  std::vector<std::string> result;
  std::string entry;
  const auto finish = [&] {
    // Entries about the database itself are not part of the dictionary.
    if (entry.rfind("00-database", 0) != 0) {
      for (std::string& text : tidy_document(without_marks(entry))) {
        result.push_back(std::move(text));
      }
    }
    entry.clear();
  };
  bool after_blank = true;
  for (const std::string_view line : lines_of(bytes)) {
    const bool blank = is_blank(line);
    if (!blank && after_blank && indent_of(line) == 0) finish();
    entry += line;
    entry += '\n';
    after_blank = blank;
  }
  finish();
  return result;
}

const base::Registration<Extractor> registration{
    {.name = "dict", .summary = "dictd dictionaries, a document per entry", .entry = {documents}}};

}  // namespace
}  // namespace windtunnel::corpus

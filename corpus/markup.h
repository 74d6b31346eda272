#pragma once
// What the extractors of marked-up text share.

#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::corpus {

/// Lines without their line ends (LF or CR LF).
std::vector<std::string_view> lines_of(std::string_view text);

/// Columns before the first character that is neither space nor tab; the whole length if there is
/// none.
size_t indent_of(std::string_view line);

bool is_blank(std::string_view text);

/// Appends a code point as UTF-8; U+FFFD if it is none.
void append_utf8(std::string& text, uint32_t code_point);

/// Appends what "amp", "#8217" or "#x2019" stands for; false if the name is unknown.
bool append_entity(std::string& text, std::string_view name);

/// No spaces at line ends, no blank lines at the edges, never two blank lines in a row, one line
/// end at the end; nothing if there is nothing to read.
std::vector<std::string> tidy_document(std::string_view text);

}  // namespace windtunnel::corpus

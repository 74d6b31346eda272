#pragma once
// Markdown in and out: text of others is escaped before it goes into a document, and the document
// is rendered by cmark-gfm without raw HTML.

#include <string>
#include <string_view>

namespace windtunnel::report {

/// `text` on one line, such that no character of it means anything to Markdown or HTML, in table
/// cells too.
std::string escape_markdown(std::string_view text);

/// As inline code: `text` on one line between backticks.
std::string code_markdown(std::string_view text);

/// GitHub-flavoured Markdown (tables) to HTML. Raw HTML and unsafe addresses are dropped; headings
/// go down by `deeper_headings` levels, to fit into a page.
std::string render_markdown(const std::string& markdown, int deeper_headings = 0);

}  // namespace windtunnel::report

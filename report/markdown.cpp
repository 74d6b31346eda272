#include "report/markdown.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

bool is_word(char byte) { return std::isalnum(static_cast<unsigned char>(byte)) != 0; }

void deepen_headings(cmark_node* document, int levels) {
  const std::unique_ptr<cmark_iter, decltype(&cmark_iter_free)> walk(cmark_iter_new(document),
                                                                     cmark_iter_free);
  for (auto event = cmark_iter_next(walk.get()); event != CMARK_EVENT_DONE;
       event = cmark_iter_next(walk.get())) {
    cmark_node* node = cmark_iter_get_node(walk.get());
    if (event == CMARK_EVENT_ENTER && cmark_node_get_type(node) == CMARK_NODE_HEADING) {
      cmark_node_set_heading_level(node, std::min(6, cmark_node_get_heading_level(node) + levels));
    }
  }
}

}  // namespace

std::string escape_markdown(std::string_view raw) {
  const std::string text = one_line(raw);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    // Inside a word an underscore is literal, and names read better without the backslash.
    const bool inside_word =
        byte == '_' && i > 0 && i + 1 < text.size() && is_word(text[i - 1]) && is_word(text[i + 1]);
    if (!inside_word && std::string_view("\\`*_{}[]<>#!|~&").find(byte) != std::string_view::npos) {
      result += '\\';
    }
    result += byte;
    // Many renderers make links of bare addresses.
    if (byte == ':' && text.compare(i, 3, "://") == 0) result += '\\';
  }
  return result;
}

std::string code_markdown(std::string_view raw) {
  const std::string text = one_line(raw);
  if (text.empty()) return "";
  size_t longest = 0;
  for (size_t i = 0, run = 0; i < text.size(); ++i) {
    run = text[i] == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return longest == 0 ? fence + text + fence : fence + " " + text + " " + fence;
}

std::string render_markdown(const std::string& markdown, int deeper_headings) {
  cmark_gfm_core_extensions_ensure_registered();
  const std::unique_ptr<cmark_parser, decltype(&cmark_parser_free)> parser(
      cmark_parser_new(CMARK_OPT_VALIDATE_UTF8), cmark_parser_free);
  cmark_syntax_extension* table = cmark_find_syntax_extension("table");
  base::check(table != nullptr, "cmark-gfm has its table extension");
  cmark_parser_attach_syntax_extension(parser.get(), table);
  cmark_parser_feed(parser.get(), markdown.data(), markdown.size());
  const std::unique_ptr<cmark_node, decltype(&cmark_node_free)> document(
      cmark_parser_finish(parser.get()), cmark_node_free);
  deepen_headings(document.get(), deeper_headings);
  const std::unique_ptr<char, decltype(&std::free)> html(
      cmark_render_html(document.get(), CMARK_OPT_DEFAULT,
                        cmark_parser_get_syntax_extensions(parser.get())),
      std::free);
  return html.get();
}

}  // namespace windtunnel::report

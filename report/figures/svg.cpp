#include "report/figures/svg.h"

#include <fmt/format.h>

#include <regex>

#include "base/error.h"
#include "report/figures/palette.h"
#include "report/html.h"

namespace windtunnel::report {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

int channel(const char* hex, int index) {
  return std::stoi(std::string(hex + 1 + 2 * index, 2), nullptr, 16);
}

/// Replaces [from, past the end of `to`) once, from the first `from` on.
void replace_span(std::string& text, const std::string& from, const std::string& to,
                  const std::string& replacement) {
  const size_t start = text.find(from);
  const size_t end = text.find(to, start == std::string::npos ? 0 : start);
  if (start != std::string::npos && end != std::string::npos) {
    text.replace(start, end + to.size() - start, replacement);
  }
}

/// gnuplot writes a palette colour in three ways.
void use_page_colours(std::string& svg) {
  for (const Colour& colour : kPalette) {
    const std::string variable = std::string("var(--") + colour.name + ")";
    const int red = channel(colour.light, 0);
    const int green = channel(colour.light, 1);
    const int blue = channel(colour.light, 2);
    replace_all(svg, fmt::format("rgb({:3}, {:3}, {:3})", red, green, blue), variable);
    replace_all(svg, fmt::format("rgb({},{},{})", red, green, blue), variable);
    replace_all(svg, "\"" + std::string(colour.light) + "\"", "\"" + variable + "\"");
  }
  // Its default for text and, behind the points of error bars, what it clears.
  replace_all(svg, "\"black\"", "\"var(--ink)\"");
  replace_all(svg, "\"#FFFFFF\"", "\"var(--paper)\"");
  replace_all(svg, "'#FFFFFF'", "'var(--paper)'");
}

}  // namespace

std::string with_svg_text(std::string svg, const SvgText& text) {
  replace_span(svg, "<title>", "</title>", "<title>" + escape_html(text.title) + "</title>");
  replace_span(svg, "<desc>", "</desc>", "<desc>" + escape_html(text.description) + "</desc>");
  return svg;
}

std::string inline_svg(std::string svg, const std::string& prefix, const SvgText& text) {
  const size_t start = svg.find("<svg");
  base::check(start != std::string::npos, "gnuplot writes an <svg> element");
  svg.erase(0, start);
  use_page_colours(svg);
  // Series without a title are named after their number; a tooltip of that helps nobody.
  svg = std::regex_replace(svg, std::regex("<title>\\w+_plot_\\d+</title>"), "");
  for (const char quote : {'\'', '"'}) {
    const std::string mark(1, quote);
    replace_all(svg, " id=" + mark, " id=" + mark + prefix + "-");
    replace_all(svg, "xlink:href=" + mark + "#", "href=" + mark + "#" + prefix + "-");
  }
  // Only the page's own words: after the ids, so that these do not get a second prefix.
  const std::string label = prefix + "-title " + prefix + "-text";
  replace_span(svg, "xmlns=", "xmlns:xlink=\"http://www.w3.org/1999/xlink\"",
               "role=\"img\" aria-labelledby=\"" + label + "\"");
  replace_span(svg, "<title>", "</title>",
               "<title id=\"" + prefix + "-title\">" + escape_html(text.title) + "</title>");
  replace_span(svg, "<desc>", "</desc>",
               "<desc id=\"" + prefix + "-text\">" + escape_html(text.description) + "</desc>");
  return svg;
}

}  // namespace windtunnel::report

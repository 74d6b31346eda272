#pragma once
// What gnuplot wrote, made fit for a page that holds several drawings and follows the reader's
// choice of light or dark.

#include <string>

namespace windtunnel::report {

struct SvgText {
  std::string title;
  std::string description;
};

/// The drawing with its own title and description instead of gnuplot's.
std::string with_svg_text(std::string svg, const SvgText& text);

/// The <svg> element alone: ids made unique with `prefix`, palette colours replaced by the page's
/// CSS variables, no namespaces (HTML needs none), title and description for screen readers.
std::string inline_svg(std::string svg, const std::string& prefix, const SvgText& text);

}  // namespace windtunnel::report

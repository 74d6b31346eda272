#include "report/html.h"

#include "base/error.h"
#include "report/wording.h"

namespace windtunnel::report {

std::string escape_html(std::string_view text) {
  std::string html;
  for (const char byte : clean_text(text)) {
    switch (byte) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += byte;
    }
  }
  return html;
}

void HtmlTable::add(std::vector<std::string> cells, std::string row_class) {
  base::check(!cells.empty(), "a row needs cells");
  std::string first = escape_html(cells.front());
  cells.erase(cells.begin());
  add_with_html(std::move(first), cells, std::move(row_class));
}

void HtmlTable::add_with_html(std::string first_cell_html, const std::vector<std::string>& cells,
                              std::string row_class) {
  base::check(cells.size() + 1 == columns_.size(), "a row needs one cell per column");
  Row row{.row_class = std::move(row_class)};
  row.cells_html.push_back(std::move(first_cell_html));
  for (const std::string& cell : cells) row.cells_html.push_back(escape_html(cell));
  rows_.push_back(std::move(row));
}

std::string HtmlTable::html() const {
  if (rows_.empty()) return "";
  const auto class_of = [&](size_t c) -> std::string {
    if (columns_[c].numeric) return " class=\"number\"";
    return columns_[c].wide ? " class=\"wide\"" : "";
  };
  std::string html = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" +
                     escape_html(caption_) + "\"><table>\n<caption><span>" + escape_html(caption_) +
                     "</span></caption>\n<thead><tr>";
  for (size_t c = 0; c < columns_.size(); ++c) {
    html += "<th scope=\"col\"" + class_of(c) + ">" + escape_html(columns_[c].title) + "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const Row& row : rows_) {
    html += row.row_class.empty() ? "<tr>" : "<tr class=\"" + row.row_class + "\">";
    for (size_t c = 0; c < row.cells_html.size(); ++c) {
      const std::string& cell = row.cells_html[c];
      // The first cell names the row.
      html += c == 0 ? "<th scope=\"row\"" + class_of(c) + ">" + cell + "</th>"
                     : "<td" + class_of(c) + ">" + cell + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string paragraph(std::string_view text, std::string_view css_class) {
  const std::string attribute =
      css_class.empty() ? "" : " class=\"" + std::string(css_class) + "\"";
  return "<p" + attribute + ">" + escape_html(text) + "</p>\n";
}

}  // namespace windtunnel::report

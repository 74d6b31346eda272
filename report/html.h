#pragma once
// Building blocks of the page. Text goes in raw and comes out escaped; only what is called `html`
// is passed on as it is.

#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::report {

/// Safe as element text and as a quoted attribute, whatever `text` holds.
std::string escape_html(std::string_view text);

/// A table that scrolls sideways when the screen is narrow.
class HtmlTable {
 public:
  struct Column {
    std::string title;
    bool numeric = false;
    /// Columns of long text keep a readable width.
    bool wide = false;
  };

  using Columns = std::vector<Column>;

  HtmlTable(std::string caption, Columns columns)
      : caption_(std::move(caption)), columns_(std::move(columns)) {}

  /// One cell per column. `row_class` is a name of our own style sheet.
  void add(std::vector<std::string> cells, std::string row_class = "");
  /// As add; the first cell is HTML already.
  void add_with_html(std::string first_cell_html, const std::vector<std::string>& cells,
                     std::string row_class = "");
  bool empty() const { return rows_.empty(); }
  /// The table, or "" if it has no row.
  std::string html() const;

 private:
  struct Row {
    std::vector<std::string> cells_html;
    std::string row_class;
  };
  std::string caption_;
  Columns columns_;
  std::vector<Row> rows_;
};

/// <p class="...">escaped text</p>
std::string paragraph(std::string_view text, std::string_view css_class = "");

}  // namespace windtunnel::report

#pragma once
// A table from outside: CSV with a header, or JSON lines. Cells stay text until a column is asked
// for.

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::scaling {

struct TableFile {
  std::filesystem::path file;
  std::vector<std::string> columns;
  /// Row by row, one cell for each column; empty where the file has none. They look into `text`.
  std::vector<std::string_view> cells;
  /// Line of the file each row starts on, from 1.
  std::vector<size_t> lines;
  /// What the file says, and cells that had to be unquoted or made.
  std::shared_ptr<const std::string> text;
  std::shared_ptr<std::deque<std::string>> made = std::make_shared<std::deque<std::string>>();

  size_t row_count() const { return lines.size(); }
  /// "row 3 (line 4)".
  std::string row_name(size_t row) const;
  std::string_view cell(size_t row, size_t column) const {
    return cells[row * columns.size() + column];
  }
  /// nullopt for an empty cell. Errors: Error naming file, row, column and cell.
  std::optional<double> number(size_t row, size_t column) const;
  bool has_column(const std::string& column) const {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  }
  /// Errors: Error naming the file, the column, the `key` that asked for it and the columns there
  /// are, if there is none or there are two.
  size_t require_column(const std::string& column, const std::string& key) const;
};

/// By its name: a folder is searched for TensorBoard's event files (event_file.h), .jsonl and
/// .ndjson hold JSON lines, everything else is CSV.
/// Errors: Error naming the file (absent, empty, header only) and the line (cells that do not match
/// the header, an open quote, broken JSON).
TableFile read_table_file(const std::filesystem::path& file);

}  // namespace windtunnel::scaling

#pragma once
// A table from outside: CSV with a header, or JSON lines. Cells stay text until a column is asked
// for.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace windtunnel::scaling {

struct TableFile {
  std::filesystem::path file;
  std::vector<std::string> columns;
  /// One cell for each column; empty where the file has none.
  std::vector<std::vector<std::string>> rows;
  /// Line of the file each row starts on, from 1.
  std::vector<size_t> lines;

  /// "row 3 (line 4)".
  std::string row_name(size_t row) const;
  std::string text(size_t row, const std::string& column) const;
  /// nullopt for an empty cell. Errors: Error naming file, row, column and cell.
  std::optional<double> number(size_t row, const std::string& column) const;
  /// Errors: Error naming the file, the column, the `key` that asked for it and the columns there
  /// are.
  void require_column(const std::string& column, const std::string& key) const;
};

/// By the file's ending: .jsonl and .ndjson hold JSON lines, everything else CSV.
/// Errors: Error naming the file (absent, empty, header only) and the line (cells that do not match
/// the header, an open quote, broken JSON).
TableFile read_table_file(const std::filesystem::path& file);

}  // namespace windtunnel::scaling

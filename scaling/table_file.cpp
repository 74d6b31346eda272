#include "scaling/table_file.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace windtunnel::scaling {
namespace {

using base::Error;

struct Record {
  std::vector<std::string> cells;
  size_t line = 0;
};

/// RFC 4180: cells may be quoted, a quote inside is doubled, a quoted cell may hold line ends.
std::vector<Record> csv_records(std::string_view text, const std::string& file) {
  std::vector<Record> records;
  size_t line = 1;
  size_t at = 0;
  while (at < text.size()) {
    Record record;
    record.line = line;
    for (bool more = true; more;) {
      std::string cell;
      if (at < text.size() && text[at] == '"') {
        const size_t opened = line;
        for (++at;; ++at) {
          if (at >= text.size()) {
            throw Error(file + " line " + std::to_string(opened) + ": the quote never closes");
          }
          if (text[at] == '"') {
            if (at + 1 >= text.size() || text[at + 1] != '"') break;
            ++at;
          }
          if (text[at] == '\n') ++line;
          cell += text[at];
        }
        ++at;
      }
      const size_t end = std::min(text.find_first_of(",\n", at), text.size());
      cell += text.substr(at, end - at);
      record.cells.emplace_back(base::trim(cell));
      more = end < text.size() && text[end] == ',';
      at = end + 1;
    }
    ++line;
    if (record.cells.size() > 1 || !record.cells[0].empty()) records.push_back(std::move(record));
  }
  return records;
}

TableFile from_csv(const std::filesystem::path& file, std::string_view text) {
  // A byte-order mark would become part of the first column's name.
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  std::vector<Record> records = csv_records(text, file.string());
  TableFile table;
  table.file = file;
  if (records.empty()) return table;
  table.columns = std::move(records.front().cells);
  for (size_t r = 1; r < records.size(); ++r) {
    Record& record = records[r];
    if (record.cells.size() != table.columns.size()) {
      throw Error(file.string() + " line " + std::to_string(record.line) + " has " +
                  std::to_string(record.cells.size()) + " cells; the header has " +
                  std::to_string(table.columns.size()));
    }
    table.rows.push_back(std::move(record.cells));
    table.lines.push_back(record.line);
  }
  return table;
}

TableFile from_json_lines(const std::filesystem::path& file, const std::string& text) {
  TableFile table;
  table.file = file;
  std::vector<std::pair<size_t, base::Json>> objects;
  size_t line = 0;
  for (const std::string& part : base::split(text, '\n')) {
    ++line;
    if (base::trim(part).empty()) continue;
    const std::string subject = file.string() + " line " + std::to_string(line);
    base::Json object = base::parse_json(part, subject);
    if (!object.is_object()) throw Error(subject + " is not a JSON object");
    for (const auto& [key, value] : object.items()) {
      if (std::find(table.columns.begin(), table.columns.end(), key) == table.columns.end()) {
        table.columns.push_back(key);
      }
    }
    objects.emplace_back(line, std::move(object));
  }
  for (const auto& [at, object] : objects) {
    std::vector<std::string> cells;
    for (const std::string& column : table.columns) {
      const auto found = object.find(column);
      if (found == object.end() || found->is_null()) {
        cells.emplace_back();
      } else {
        cells.push_back(found->is_string() ? found->get<std::string>() : found->dump());
      }
    }
    table.rows.push_back(std::move(cells));
    table.lines.push_back(at);
  }
  return table;
}

}  // namespace

std::string TableFile::row_name(size_t row) const {
  return "row " + std::to_string(row + 1) + " (line " + std::to_string(lines[row]) + ")";
}

std::string TableFile::text(size_t row, const std::string& column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  base::check(found != columns.end(), "a column that was not checked with require_column");
  return rows[row][static_cast<size_t>(found - columns.begin())];
}

std::optional<double> TableFile::number(size_t row, const std::string& column) const {
  const std::string cell = text(row, column);
  if (cell.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) {
    throw Error(file.string() + ", " + row_name(row) + ": " + column + " = '" +
                base::shorten(cell, 40) + "' is not a number");
  }
  return value;
}

void TableFile::require_column(const std::string& column, const std::string& key) const {
  if (std::find(columns.begin(), columns.end(), column) != columns.end()) return;
  const std::string near = base::nearest_word(column, columns);
  throw Error(file.string() + " has no column '" + column + "' (asked for by " + key + "=" +
              column + ")" + (near.empty() ? "" : "; did you mean '" + near + "'?") +
              " It has: " + base::join(columns, ", "));
}

TableFile read_table_file(const std::filesystem::path& file) {
  const std::string text = base::read_file(file);
  const std::string ending = file.extension().string();
  TableFile table = ending == ".jsonl" || ending == ".ndjson" ? from_json_lines(file, text)
                                                              : from_csv(file, text);
  if (table.columns.empty()) throw Error(file.string() + " is empty; it needs rows to fit");
  if (table.rows.empty()) throw Error(file.string() + " has a header but no rows");
  return table;
}

}  // namespace windtunnel::scaling

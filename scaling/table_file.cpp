#include "scaling/table_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "scaling/event_file.h"

namespace windtunnel::scaling {
namespace {

using base::Error;

/// RFC 4180: cells may be quoted, a quote inside is doubled, a quoted cell may hold line ends.
/// Gives the cells of one line at a time.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file, std::deque<std::string>& made)
      : text_(text), file_(file), made_(made) {}

  /// False at the end. Blank lines are passed over.
  bool next(std::vector<std::string_view>& cells) {
    while (at_ < text_.size()) {
      started_ = line_;
      cells.clear();
      for (bool more = true; more;) {
        const bool quoted = at_ < text_.size() && text_[at_] == '"';
        const std::string_view inside = quoted ? quoted_cell() : std::string_view();
        const size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
        const std::string_view rest = base::trim(text_.substr(at_, end - at_));
        cells.push_back(quoted ? (rest.empty() ? base::trim(inside) : join(inside, rest)) : rest);
        more = end < text_.size() && text_[end] == ',';
        at_ = end + 1;
      }
      ++line_;
      if (cells.size() > 1 || !cells[0].empty()) return true;
    }
    return false;
  }

  /// Line that the last row started on.
  size_t line() const { return started_; }

 private:
  std::string_view quoted_cell() {
    const size_t opened = line_;
    std::string cell;
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) {
        throw Error(file_ + " line " + std::to_string(opened) + ": the quote never closes");
      }
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      }
      if (text_[at_] == '\n') ++line_;
      cell += text_[at_];
    }
    ++at_;
    return made_.emplace_back(std::move(cell));
  }

  std::string_view join(std::string_view inside, std::string_view rest) {
    return made_.emplace_back(std::string(inside) + std::string(rest));
  }

  std::string_view text_;
  const std::string& file_;
  std::deque<std::string>& made_;
  size_t at_ = 0;
  size_t line_ = 1;
  size_t started_ = 1;
};

TableFile from_csv(const std::filesystem::path& file, std::string content) {
  TableFile table;
  table.file = file;
  table.text = std::make_shared<const std::string>(std::move(content));
  std::string_view text = *table.text;
  // A byte-order mark would become part of the first column's name.
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const std::string name = file.string();
  CsvReader reader(text, name, *table.made);
  std::vector<std::string_view> cells;
  if (!reader.next(cells)) return table;
  table.columns.assign(cells.begin(), cells.end());
  while (reader.next(cells)) {
    if (cells.size() != table.columns.size()) {
      throw Error(name + " line " + std::to_string(reader.line()) + " has " +
                  std::to_string(cells.size()) + " cells; the header has " +
                  std::to_string(table.columns.size()));
    }
    table.cells.insert(table.cells.end(), cells.begin(), cells.end());
    table.lines.push_back(reader.line());
  }
  return table;
}

TableFile from_json_lines(const std::filesystem::path& file, const std::string& text) {
  TableFile table;
  table.file = file;
  std::vector<std::pair<size_t, base::Json>> objects;
  std::unordered_set<std::string> known;
  size_t line = 0;
  for (const std::string& part : base::split(text, '\n')) {
    ++line;
    if (base::trim(part).empty()) continue;
    const std::string subject = file.string() + " line " + std::to_string(line);
    base::Json object = base::parse_json(part, subject);
    if (!object.is_object()) throw Error(subject + " is not a JSON object");
    for (const auto& [key, value] : object.items()) {
      if (known.insert(key).second) table.columns.push_back(key);
    }
    objects.emplace_back(line, std::move(object));
  }
  for (const auto& [at, object] : objects) {
    for (const std::string& column : table.columns) {
      const auto found = object.find(column);
      if (found == object.end() || found->is_null()) {
        table.cells.emplace_back();
      } else {
        table.cells.push_back(table.made->emplace_back(
            found->is_string() ? found->get<std::string>() : found->dump()));
      }
    }
    table.lines.push_back(at);
  }
  return table;
}

/// One row for each run, with the last value of each tag.
TableFile from_event_files(const std::filesystem::path& folder) {
  TableFile table;
  table.file = folder;
  const std::vector<EventRun> runs = read_event_runs(folder);
  std::set<std::string> tags;
  for (const EventRun& run : runs) {
    for (const auto& [tag, value] : run.last) tags.insert(tag);
  }
  table.columns = {"run", "step"};
  table.columns.insert(table.columns.end(), tags.begin(), tags.end());
  for (size_t r = 0; r < runs.size(); ++r) {
    table.cells.push_back(table.made->emplace_back(runs[r].name));
    table.cells.push_back(table.made->emplace_back(std::to_string(runs[r].last_step)));
    for (const std::string& tag : tags) {
      const auto found = runs[r].last.find(tag);
      table.cells.push_back(found == runs[r].last.end()
                                ? std::string_view()
                                : table.made->emplace_back(fmt::format("{}", found->second)));
    }
    table.lines.push_back(r + 1);
  }
  return table;
}

}  // namespace

std::string TableFile::row_name(size_t row) const {
  return "row " + std::to_string(row + 1) + " (line " + std::to_string(lines[row]) + ")";
}

std::optional<double> TableFile::number(size_t row, size_t column) const {
  const std::string_view text_of_cell = cell(row, column);
  if (text_of_cell.empty()) return std::nullopt;
  double value = 0;
  const char* end_of_cell = text_of_cell.data() + text_of_cell.size();
  const auto [end, error] = std::from_chars(text_of_cell.data(), end_of_cell, value);
  if (error != std::errc() || end != end_of_cell) {
    throw Error(file.string() + ", " + row_name(row) + ": " + columns[column] + " = '" +
                base::shorten(text_of_cell, 40) + "' is not a number");
  }
  return value;
}

size_t TableFile::require_column(const std::string& column, const std::string& key) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found != columns.end() && std::find(found + 1, columns.end(), column) != columns.end()) {
    throw Error(file.string() + " has two columns '" + column + "' (asked for by " + key + "=" +
                column + "); rename one in its header");
  }
  if (found != columns.end()) return static_cast<size_t>(found - columns.begin());
  const std::string near = base::nearest_word(column, columns);
  throw base::UsageError(file.string() + " has no column '" + column + "' (asked for by " + key +
                         "=" + column + ")" +
                         (near.empty() ? "; it has: " : "; did you mean '" + near + "'? It has: ") +
                         base::join(columns, ", "));
}

TableFile read_table_file(const std::filesystem::path& file) {
  TableFile table;
  if (std::filesystem::is_directory(file)) {
    table = from_event_files(file);
  } else {
    std::string content = base::read_file(file);
    const std::string ending = file.extension().string();
    table = ending == ".jsonl" || ending == ".ndjson" ? from_json_lines(file, content)
                                                      : from_csv(file, std::move(content));
  }
  if (table.columns.empty()) throw Error(file.string() + " is empty; it needs rows to fit");
  if (table.row_count() == 0) throw Error(file.string() + " has a header but no rows");
  return table;
}

}  // namespace windtunnel::scaling

#pragma once
// What the parts of the journal share: the database and prepared statements. Included by
// study/journal*.cpp only.

#include <sqlite3.h>

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/secrets.h"
#include "study/journal.h"

namespace windtunnel::study {

/// Text from a child or a language model may hold bytes that are not UTF-8, or a key.
inline std::string dump(const base::Json& value) {
  return base::redact(value).dump(-1, ' ', false, base::Json::error_handler_t::replace);
}

/// One prepared statement; parameters are bound in order, columns are read by index.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK) fail();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  Statement& bind(double number) {
    sqlite3_bind_double(statement_, ++bound_, number);
    return *this;
  }
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    if (value) return bind(*value);
    sqlite3_bind_null(statement_, ++bound_);
    return *this;
  }

  /// True while there is a row.
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) fail();
    return false;
  }
  /// Runs a change; returns how many rows it touched.
  int run() {
    step();
    return sqlite3_changes(database_);
  }

  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)))
                 : std::string();
  }
  std::optional<int64_t> optional_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
  }
  std::optional<double> optional_real(int column) const {
    return is_null(column) ? std::nullopt : std::optional(real(column));
  }
  base::Json json(int column) const { return base::parse_json(text(column), "journal"); }

 private:
  [[noreturn]] void fail() {
    const char* file = sqlite3_db_filename(database_, "main");
    throw base::Error(std::string("journal ") + (file ? file : "") + ": " +
                      sqlite3_errmsg(database_));
  }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

struct Journal::Parts {
  sqlite3* database = nullptr;
  ~Parts() { sqlite3_close(database); }
  void execute(const char* sql) {
    char* message = nullptr;
    if (sqlite3_exec(database, sql, nullptr, nullptr, &message) != SQLITE_OK) {
      const std::string text = message ? message : "unknown";
      sqlite3_free(message);
      throw base::Error("journal " + file + ": " + text);
    }
  }
  std::string file;
};

}  // namespace windtunnel::study

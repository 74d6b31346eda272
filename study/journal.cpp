#include "study/journal.h"

#include <sqlite3.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/secrets.h"

namespace windtunnel::study {
namespace {

using base::Error;
using base::Json;

constexpr int kFormatVersion = 1;

const char* const kSchema = R"sql(
  CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value TEXT NOT NULL, time TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS experiments(
    number INTEGER PRIMARY KEY, parent INTEGER NOT NULL, proposer TEXT NOT NULL,
    proposal TEXT NOT NULL, config TEXT NOT NULL, config_fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK(state IN ('proposed', 'decided')), verdict TEXT, decision TEXT,
    proposed_at TEXT NOT NULL, decided_at TEXT);
  CREATE TABLE IF NOT EXISTS runs(
    id TEXT PRIMARY KEY, purpose TEXT NOT NULL, experiment INTEGER, seed INTEGER NOT NULL,
    state TEXT NOT NULL CHECK(state IN ('intended', 'finished')), attempts INTEGER NOT NULL,
    outcome TEXT, bits_per_byte REAL, record TEXT, intended_at TEXT NOT NULL, finished_at TEXT);
  CREATE TABLE IF NOT EXISTS llm_calls(
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, purpose TEXT NOT NULL, model TEXT NOT NULL,
    outcome TEXT NOT NULL, message TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER,
    seconds REAL NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL, dollars REAL);
  CREATE TABLE IF NOT EXISTS events(
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
)sql";

/// Text from a child or a language model may hold bytes that are not UTF-8, or a key.
std::string dump(const Json& value) {
  return base::redact(value).dump(-1, ' ', false, Json::error_handler_t::replace);
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
  std::optional<double> optional_real(int column) const {
    return is_null(column) ? std::nullopt : std::optional(real(column));
  }
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
  Json json(int column) const { return base::parse_json(text(column), "journal"); }

 private:
  [[noreturn]] void fail() {
    const char* file = sqlite3_db_filename(database_, "main");
    throw Error(std::string("journal ") + (file ? file : "") + ": " + sqlite3_errmsg(database_));
  }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

JournalRun read_run(const Statement& row) {
  JournalRun run;
  run.id = row.text(0);
  run.purpose = row.text(1);
  run.experiment = row.optional_integer(2);
  run.seed = row.integer(3);
  run.state = row.text(4);
  run.attempts = row.integer(5);
  if (!row.is_null(6)) run.record = base::from_trusted_json<RunRecord>(row.json(6));
  return run;
}

/// A study of before calls had a price has no column for it; only who may write adds one.
bool has_prices(sqlite3* database) {
  Statement row(database, "SELECT 1 FROM pragma_table_info('llm_calls') WHERE name = 'dollars'");
  return row.step();
}

constexpr const char* kRunColumns = "id, purpose, experiment, seed, state, attempts, record";

}  // namespace

struct Journal::Parts {
  sqlite3* database = nullptr;
  ~Parts() { sqlite3_close(database); }
  void execute(const char* sql) {
    char* message = nullptr;
    if (sqlite3_exec(database, sql, nullptr, nullptr, &message) != SQLITE_OK) {
      const std::string text = message ? message : "unknown";
      sqlite3_free(message);
      throw Error("journal " + file + ": " + text);
    }
  }
  std::string file;
};

Journal::Journal(const std::filesystem::path& file, bool read_only) : parts_(new Parts) {
  parts_->file = file.string();
  if (read_only && !std::filesystem::exists(file)) {
    throw Error("no journal at " + file.string() + ": the folder holds no study yet");
  }
  if (!read_only && file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  const int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(file.c_str(), &parts_->database, flags, nullptr) != SQLITE_OK) {
    throw Error("journal " + file.string() + ": " + sqlite3_errmsg(parts_->database));
  }
  sqlite3_busy_timeout(parts_->database, 10'000);
  const auto version = [&] {
    Statement statement(parts_->database, "PRAGMA user_version");
    statement.step();
    return statement.integer(0);
  };
  if (!read_only) {
    // A rollback journal with full syncs: slower than WAL by a little, and right on every file
    // system.
    parts_->execute("PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;");
    if (version() == 0) {
      parts_->execute("BEGIN");
      parts_->execute(kSchema);
      parts_->execute(("PRAGMA user_version=" + std::to_string(kFormatVersion)).c_str());
      parts_->execute("COMMIT");
    }
  }
  if (version() != kFormatVersion) {
    throw Error("journal " + file.string() + ": format version " + std::to_string(version()) +
                ", this program reads version " + std::to_string(kFormatVersion));
  }
  if (!read_only && !has_prices(parts_->database)) {
    parts_->execute("ALTER TABLE llm_calls ADD COLUMN dollars REAL");
  }
}

Journal::~Journal() = default;
Journal::Journal(Journal&&) noexcept = default;

void Journal::set_fact(const std::string& name, const Json& value) {
  Statement(parts_->database, "INSERT OR REPLACE INTO facts VALUES(?, ?, ?)")
      .bind(name)
      .bind(dump(value))
      .bind(base::utc_now())
      .run();
}

std::optional<Json> Journal::fact(const std::string& name) const {
  Statement row(parts_->database, "SELECT value FROM facts WHERE name = ?");
  row.bind(name);
  if (!row.step()) return std::nullopt;
  return row.json(0);
}

int64_t Journal::add_experiment(const Experiment& experiment) {
  Statement(
      parts_->database,
      "INSERT INTO experiments(parent, proposer, proposal, config, config_fingerprint, state, "
      "proposed_at) VALUES(?, ?, ?, ?, ?, 'proposed', ?)")
      .bind(experiment.parent)
      .bind(experiment.proposal.proposer)
      .bind(dump(base::to_json(experiment.proposal)))
      .bind(dump(experiment.config))
      .bind(experiment.config_fingerprint)
      .bind(base::utc_now())
      .run();
  return sqlite3_last_insert_rowid(parts_->database);
}

void Journal::decide(int64_t experiment, const Decision& decision) {
  const int changed =
      Statement(
          parts_->database,
          "UPDATE experiments SET state = 'decided', verdict = ?, decision = ?, decided_at = ? "
          "WHERE number = ? AND state = 'proposed'")
          .bind(decision.verdict)
          .bind(dump(base::to_json(decision)))
          .bind(base::utc_now())
          .bind(experiment)
          .run();
  if (changed != 1) {
    throw Error("experiment " + std::to_string(experiment) +
                " is decided already or does not exist");
  }
}

std::vector<Experiment> Journal::experiments() const {
  std::vector<Experiment> result;
  Statement row(parts_->database,
                "SELECT number, parent, proposal, config, config_fingerprint, state, decision, "
                "proposed_at FROM experiments ORDER BY number");
  while (row.step()) {
    Experiment experiment;
    experiment.number = row.integer(0);
    experiment.parent = row.integer(1);
    experiment.proposal = base::from_trusted_json<Proposal>(row.json(2));
    experiment.config = row.json(3);
    experiment.config_fingerprint = row.text(4);
    experiment.state = row.text(5);
    if (!row.is_null(6)) experiment.decision = base::from_trusted_json<Decision>(row.json(6));
    experiment.proposed_at = row.text(7);
    result.push_back(std::move(experiment));
  }
  return result;
}

void Journal::intend_run(const std::string& id, const std::string& purpose,
                         std::optional<int64_t> experiment, int64_t seed) {
  const int changed =
      Statement(parts_->database,
                "INSERT INTO runs(id, purpose, experiment, seed, state, attempts, intended_at) "
                "VALUES(?, ?, ?, ?, 'intended', 1, ?) "
                "ON CONFLICT(id) DO UPDATE SET attempts = attempts + 1 WHERE state = 'intended'")
          .bind(id)
          .bind(purpose)
          .bind(experiment)
          .bind(seed)
          .bind(base::utc_now())
          .run();
  if (changed != 1) throw Error("run " + id + " is finished already; it must not run again");
}

void Journal::finish_run(const RunRecord& record) {
  const int changed =
      Statement(parts_->database,
                "UPDATE runs SET state = 'finished', outcome = ?, bits_per_byte = ?, record = ?, "
                "finished_at = ? WHERE id = ? AND state = 'intended'")
          .bind(record.train.outcome)
          .bind(record.bits_per_byte())
          .bind(dump(base::to_json(record)))
          .bind(base::utc_now())
          .bind(record.id)
          .run();
  if (changed != 1) throw Error("run " + record.id + " is finished already or was never intended");
}

std::vector<JournalRun> Journal::runs() const {
  std::vector<JournalRun> result;
  Statement row(parts_->database,
                ("SELECT " + std::string(kRunColumns) + " FROM runs ORDER BY rowid").c_str());
  while (row.step()) result.push_back(read_run(row));
  return result;
}

std::optional<JournalRun> Journal::run(const std::string& id) const {
  Statement row(parts_->database,
                ("SELECT " + std::string(kRunColumns) + " FROM runs WHERE id = ?").c_str());
  row.bind(id);
  if (!row.step()) return std::nullopt;
  return read_run(row);
}

void Journal::add_llm_call(const LlmCall& call) {
  Statement(parts_->database,
            "INSERT INTO llm_calls(time, purpose, model, outcome, message, prompt_tokens, "
            "completion_tokens, seconds, request, reply, dollars) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(base::utc_now())
      .bind(call.purpose)
      .bind(call.model)
      .bind(call.outcome)
      .bind(base::redact(call.message))
      .bind(call.prompt_tokens)
      .bind(call.completion_tokens)
      .bind(call.seconds)
      .bind(dump(call.request))
      .bind(dump(call.reply))
      .bind(call.dollars)
      .run();
}

std::vector<LlmCall> Journal::llm_calls() const {
  std::vector<LlmCall> result;
  const std::string columns =
      "SELECT purpose, model, outcome, message, prompt_tokens, completion_tokens, seconds, "
      "request, "
      "reply, ";
  const char* price = has_prices(parts_->database) ? "dollars" : "NULL";
  Statement row(parts_->database, (columns + price + " FROM llm_calls ORDER BY id").c_str());
  while (row.step()) {
    result.push_back({.purpose = row.text(0),
                      .model = row.text(1),
                      .outcome = row.text(2),
                      .message = row.text(3),
                      .prompt_tokens = row.optional_integer(4),
                      .completion_tokens = row.optional_integer(5),
                      .seconds = row.real(6),
                      .request = row.json(7),
                      .reply = row.json(8),
                      .dollars = row.optional_real(9)});
  }
  return result;
}

void Journal::add_event(const std::string& kind, const std::string& text) {
  Statement(parts_->database, "INSERT INTO events(time, kind, text) VALUES(?, ?, ?)")
      .bind(base::utc_now())
      .bind(kind)
      .bind(base::redact(text))
      .run();
}

std::vector<Journal::Event> Journal::events() const {
  std::vector<Event> result;
  Statement row(parts_->database, "SELECT time, kind, text FROM events ORDER BY id");
  while (row.step()) result.push_back({row.text(0), row.text(1), row.text(2)});
  return result;
}

}  // namespace windtunnel::study

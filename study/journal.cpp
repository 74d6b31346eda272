#include "study/journal_database.h"

namespace windtunnel::study {
namespace {

using base::Error;
using base::Json;

constexpr int kFormatVersion = 2;

// What is counted and looked up is apart from the documents, which would fill the pages that such
// questions read.
const char* const kSchema = R"sql(
  CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL, time TEXT NOT NULL);
  CREATE TABLE experiments(
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, proposer TEXT NOT NULL, family TEXT NOT NULL,
    parent INTEGER NOT NULL, about INTEGER NOT NULL, thread INTEGER NOT NULL,
    config_fingerprint TEXT NOT NULL, state TEXT NOT NULL, verdict TEXT,
    predicted_delta REAL NOT NULL, predicted_low REAL NOT NULL, predicted_high REAL NOT NULL,
    predicted_kept REAL, predicted_throughput REAL,
    delta REAL, covered INTEGER, throughput REAL, doubt TEXT NOT NULL DEFAULT '',
    proposed_at TEXT NOT NULL, decided_at TEXT);
  CREATE INDEX kept ON experiments(verdict) WHERE verdict = 'keep';
  CREATE INDEX scored ON experiments(kind, proposer, family, verdict, doubt, delta, covered,
    predicted_delta, predicted_kept, predicted_throughput, throughput);
  CREATE TABLE experiment_documents(
    number INTEGER PRIMARY KEY REFERENCES experiments, proposal TEXT NOT NULL, config TEXT NOT NULL,
    decision TEXT, reflection TEXT);
  CREATE INDEX audited ON experiment_documents(number)
    WHERE json_extract(decision, '$.audited_abort') IS NOT NULL;
  CREATE TABLE transitions(
    id INTEGER PRIMARY KEY, experiment INTEGER NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL,
    time TEXT NOT NULL);
  CREATE INDEX transitions_of ON transitions(experiment);
  CREATE TABLE runs(
    id TEXT PRIMARY KEY, purpose TEXT NOT NULL, experiment INTEGER, seed INTEGER NOT NULL,
    state TEXT NOT NULL CHECK(state IN ('intended', 'finished')), attempts INTEGER NOT NULL,
    outcome TEXT, bits_per_byte REAL, wall_seconds REAL, intended_at TEXT NOT NULL, finished_at TEXT);
  CREATE INDEX runs_of ON runs(experiment, bits_per_byte, state, wall_seconds);
  CREATE INDEX unfinished_runs ON runs(state) WHERE state = 'intended';
  CREATE TABLE run_documents(id TEXT PRIMARY KEY REFERENCES runs, record TEXT NOT NULL);
  CREATE TABLE reservations(
    id INTEGER PRIMARY KEY, experiment INTEGER NOT NULL, resource TEXT NOT NULL,
    amount REAL NOT NULL, settled REAL, time TEXT NOT NULL);
  CREATE INDEX spent ON reservations(resource, settled, amount);
  CREATE INDEX open_reservations ON reservations(id) WHERE settled IS NULL;
  CREATE TABLE llm_calls(
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, purpose TEXT NOT NULL, model TEXT NOT NULL,
    outcome TEXT NOT NULL, message TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER,
    dollars REAL, seconds REAL NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL);
  CREATE TABLE events(
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
)sql";

}  // namespace

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
      together([&] {
        parts_->execute(kSchema);
        parts_->execute(("PRAGMA user_version=" + std::to_string(kFormatVersion)).c_str());
      });
    }
  }
  if (version() != kFormatVersion) {
    throw Error("journal " + file.string() + ": format version " + std::to_string(version()) +
                ", this program reads version " + std::to_string(kFormatVersion));
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

void Journal::together(const std::function<void()>& changes) {
  if (sqlite3_get_autocommit(parts_->database) == 0) return changes();  // part of an outer one
  parts_->execute("BEGIN IMMEDIATE");
  try {
    changes();
    parts_->execute("COMMIT");
  } catch (...) {
    sqlite3_exec(parts_->database, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

int64_t Journal::reserve(int64_t experiment, const std::string& resource, double amount) {
  Statement(parts_->database,
            "INSERT INTO reservations(experiment, resource, amount, time) VALUES(?, ?, ?, ?)")
      .bind(experiment)
      .bind(resource)
      .bind(amount)
      .bind(base::utc_now())
      .run();
  return sqlite3_last_insert_rowid(parts_->database);
}

void Journal::settle(int64_t reservation, double used) {
  const int changed =
      Statement(parts_->database,
                "UPDATE reservations SET settled = ? WHERE id = ? AND settled IS NULL")
          .bind(used)
          .bind(reservation)
          .run();
  if (changed != 1) {
    throw Error("reservation " + std::to_string(reservation) +
                " is settled already or does not exist");
  }
}

std::vector<Reservation> Journal::open_reservations() const {
  std::vector<Reservation> result;
  Statement row(parts_->database,
                "SELECT id, experiment, resource, amount FROM reservations WHERE settled IS NULL "
                "ORDER BY id");
  while (row.step()) {
    result.push_back({row.integer(0), row.integer(1), row.text(2), row.real(3), std::nullopt});
  }
  return result;
}

double Journal::spent(const std::string& resource) const {
  Statement row(parts_->database,
                "SELECT coalesce(sum(coalesce(settled, amount)), 0) FROM reservations "
                "WHERE resource = ?");
  row.bind(resource);
  row.step();
  return row.real(0);
}

void Journal::add_llm_call(const LlmCall& call) {
  Statement(parts_->database,
            "INSERT INTO llm_calls(time, purpose, model, outcome, message, prompt_tokens, "
            "completion_tokens, dollars, seconds, request, reply) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(base::utc_now())
      .bind(call.purpose)
      .bind(call.model)
      .bind(call.outcome)
      .bind(base::redact(call.message))
      .bind(call.prompt_tokens)
      .bind(call.completion_tokens)
      .bind(call.dollars)
      .bind(call.seconds)
      .bind(dump(call.request))
      .bind(dump(call.reply))
      .run();
}

std::vector<LlmCall> Journal::llm_calls() const {
  std::vector<LlmCall> result;
  Statement row(parts_->database,
                "SELECT purpose, model, outcome, message, prompt_tokens, completion_tokens, "
                "dollars, seconds, "
                "request, reply FROM llm_calls ORDER BY id");
  while (row.step()) {
    result.push_back({.purpose = row.text(0),
                      .model = row.text(1),
                      .outcome = row.text(2),
                      .message = row.text(3),
                      .prompt_tokens = row.optional_integer(4),
                      .completion_tokens = row.optional_integer(5),
                      .seconds = row.real(7),
                      .request = row.json(8),
                      .reply = row.json(9),
                      .dollars = row.optional_real(6)});
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

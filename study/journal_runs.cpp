#include "study/journal_database.h"

namespace windtunnel::study {
namespace {

using base::Error;

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

std::string select_runs(const char* which) {
  return fmt::format(
      "SELECT runs.id, purpose, experiment, seed, state, attempts, record "
      "FROM runs LEFT JOIN run_documents ON runs.id = run_documents.id {}",
      which);
}

}  // namespace

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
  together([&] {
    const int changed =
        Statement(parts_->database,
                  "UPDATE runs SET state = 'finished', outcome = ?, bits_per_byte = ?, "
                  "wall_seconds = ?, finished_at = ? WHERE id = ? AND state = 'intended'")
            .bind(record.train.outcome)
            .bind(record.bits_per_byte())
            .bind(record.wall_seconds)
            .bind(base::utc_now())
            .bind(record.id)
            .run();
    if (changed != 1) {
      throw Error("run " + record.id + " is finished already or was never intended");
    }
    Statement(parts_->database, "INSERT INTO run_documents(id, record) VALUES(?, ?)")
        .bind(record.id)
        .bind(dump(base::to_json(record)))
        .run();
  });
}

std::vector<JournalRun> Journal::runs(int64_t skip) const {
  std::vector<JournalRun> result;
  // Rows are never removed, so row numbers count them.
  Statement row(parts_->database, select_runs("WHERE runs.rowid > ? ORDER BY runs.rowid").c_str());
  row.bind(skip);
  while (row.step()) result.push_back(read_run(row));
  return result;
}

std::optional<JournalRun> Journal::run(const std::string& id) const {
  Statement row(parts_->database, select_runs("WHERE runs.id = ?").c_str());
  row.bind(id);
  if (!row.step()) return std::nullopt;
  return read_run(row);
}

std::vector<JournalRun> Journal::unfinished_runs() const {
  std::vector<JournalRun> result;
  Statement row(parts_->database,
                select_runs("WHERE state = 'intended' ORDER BY runs.rowid").c_str());
  while (row.step()) result.push_back(read_run(row));
  return result;
}

std::vector<JournalRun> Journal::runs_of(int64_t experiment) const {
  std::vector<JournalRun> result;
  Statement row(parts_->database, select_runs("WHERE experiment = ? ORDER BY runs.rowid").c_str());
  row.bind(experiment);
  while (row.step()) result.push_back(read_run(row));
  return result;
}

Journal::RunCounts Journal::run_counts() const {
  Statement row(parts_->database,
                "SELECT count(*), count(bits_per_byte), coalesce(sum(wall_seconds), 0) FROM runs "
                "WHERE experiment IS NOT NULL AND state = 'finished'");
  row.step();
  return {row.integer(0), row.integer(1), row.real(2)};
}

std::optional<double> Journal::mean_bits_per_byte(int64_t experiment) const {
  Statement row(parts_->database,
                "SELECT avg(bits_per_byte) FROM runs WHERE experiment = ? AND purpose <> ?");
  row.bind(experiment).bind(kReferencePurpose);
  row.step();
  return row.optional_real(0);
}

}  // namespace windtunnel::study

// A study that has grown long still answers at once.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>

#include "agent/prompt.h"
#include "agent/summary.h"
#include "tests/agent/small_night.h"

namespace windtunnel::agent {
namespace {

constexpr int64_t kExperiments = 100'000;
// What a person or a language model's turn may wait for; on a machine that runs other tests
// meanwhile, some times that. Reading every document would take a hundred times as long.
constexpr double kAtOnceSeconds = 0.1;
constexpr double kBusyMachine = 6;

double seconds_of(const std::function<void()>& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// The best of three: what it costs, not what the machine does besides.
double best_seconds_of(const std::function<void()>& work) {
  return std::min({seconds_of(work), seconds_of(work), seconds_of(work)});
}

/// One experiment as the loop writes it, then copies of it with other numbers, verdicts and ids,
/// made by the database itself.
void fill(const std::filesystem::path& file, const Program& program) {
  const Json document = base::to_json(study::resolve_run_config(program.base, "base"));
  {
    Journal journal(file);
    journal.set_fact(fact::kBaseline, {{"config", document}, {"fingerprint", "x"}});
    journal.set_fact(fact::kProgram, base::to_json(program));
    Experiment experiment;
    experiment.proposal = idea(learning_rate(0.05));
    experiment.proposal.proposer = "random";
    experiment.config = document;
    journal.add_experiment(experiment);
    RunRecord record;
    record.id = "e1";
    record.evaluation.emplace().bits_per_byte = 2.5;
    record.train.outcome = study::outcome::kCompleted;
    record.comparability_key = "key";
    journal.intend_run(record.id, "candidate", 1, 1);
    journal.finish_run(record);
    study::Decision decision;
    decision.verdict = "discard";
    decision.delta_bits_per_byte = 0.001;
    decision.interval_low = -0.002;
    decision.interval_high = 0.002;
    decision.pairs = 2;
    decision.seeds = {1, 2};
    decision.prediction_covered = true;
    decision.reason = "within noise";
    journal.decide(1, decision);
  }
  const std::string copies =
      "BEGIN;"
      "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n "
      "WHERE i < " +
      std::to_string(kExperiments) +
      ") SELECT i FROM n;"
      "INSERT INTO experiments SELECT i, kind, CASE i % 3 WHEN 0 THEN 'language_model' ELSE "
      "proposer "
      "END, 'family ' || (i % 5), parent, about, i, i, state, CASE i % 1000 WHEN 0 THEN 'keep' "
      "ELSE "
      "verdict END, predicted_delta, predicted_low, predicted_high, predicted_kept, "
      "predicted_throughput, delta, i % 4 <> 0, throughput, doubt, proposed_at, decided_at "
      "FROM experiments, n WHERE number = 1;"
      "INSERT INTO experiment_documents SELECT i, proposal, config, CASE i % 1000 WHEN 0 THEN "
      "json_set(decision, '$.verdict', 'keep') ELSE decision END, reflection "
      "FROM experiment_documents, n WHERE number = 1;"
      "INSERT INTO runs SELECT 'e' || i, purpose, i, seed, state, attempts, outcome, "
      "bits_per_byte, "
      "wall_seconds, intended_at, finished_at FROM runs, n WHERE id = 'e1';"
      "INSERT INTO run_documents SELECT 'e' || i, record FROM run_documents, n WHERE id = 'e1';"
      "COMMIT;";
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, copies.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

TEST(LongJournal, StatusAndTheNextPromptTakeNoLongerThanAPersonWaits) {
  const tests::TemporaryFolder folder(tests::memory_folder());
  const Program program = small_program();
  fill(folder / "journal.db", program);
  const Journal journal(folder / "journal.db", /*read_only=*/true);

  NightSummary summary;
  const double status = best_seconds_of([&] { summary = summarise(journal); });
  EXPECT_EQ(summary.kept, kExperiments / 1000);
  EXPECT_EQ(summary.decided(), kExperiments);
  EXPECT_EQ(summary.calibration.front().measured, kExperiments);

  const Json incumbent = summary.best_config;
  const std::vector<Experiment> history = journal.experiments();
  const ProposalContext context{.program = program,
                                .incumbent = incumbent,
                                .history = history,
                                .noise_bits_per_byte = 0.02,
                                .incumbent_bits_per_byte = 2.5,
                                .remaining = {.experiments = 5}};
  size_t length = 0;
  const double prompt =
      best_seconds_of([&] { length = proposal_prompt(context, 16'000)->back().content.size(); });
  EXPECT_GT(length, 10'000U);
  std::cout << kExperiments << " experiments: status " << 1000 * status << " ms, next prompt "
            << 1000 * prompt << " ms; at most 100 are wanted of each\n";
  EXPECT_LE(status, kBusyMachine * kAtOnceSeconds);
  EXPECT_LE(prompt, kBusyMachine * kAtOnceSeconds);
}

TEST(LongJournal, AnExperimentCostsLessThanASecondBesideItsRuns) {
  const tests::TemporaryFolder folder;  // on a disk, with its syncs
  LinesOnly view;
  Program program = small_program();
  program.night.experiments = 20;
  Journal journal(folder / "journal.db");
  ScriptedRunner runner(folder.path(), 2, valley);
  const double seconds =
      seconds_of([&] { run_night(program, journal, runner, folder.path(), view); });
  const auto experiments = static_cast<double>(journal.experiment_count());
  std::cout << "overhead of an experiment: " << 1000 * seconds / experiments << " ms\n";
  EXPECT_LE(seconds / experiments, kBusyMachine * 1.0);
}

}  // namespace
}  // namespace windtunnel::agent

// The runner against scripted trainers: each way a process can end becomes its typed outcome.

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "base/interrupt.h"
#include "base/secrets.h"
#include "study/run_missing.h"
#include "tests/study/scripted_trainer.h"

namespace windtunnel::study {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

using ProcessRunnerTest = ScriptedTrainer;

TEST_F(ProcessRunnerTest, ACompletedRunHasItsScoreAndItsRecordOnDisk) {
  trainer(good_training());
  const RunRecord record = run_one();
  EXPECT_EQ(record.bits_per_byte(), 2.5);
  EXPECT_EQ(record.train.steps, 3);
  EXPECT_GT(record.parameters_active, 0);
  EXPECT_EQ(read_record(folder_ / "runs/r1")->bits_per_byte(), 2.5);
}

TEST_F(ProcessRunnerTest, ARunWaitsForItsDyingPredecessor) {
  trainer(good_training());
  auto dying = std::make_unique<base::FolderLock>(folder_ / "runs/r1");
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    dying.reset();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(run_one().completed());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
  end.join();
}

TEST_F(ProcessRunnerTest, ACrashIsAnOutcomeWithTheLastLineOfTheLog) {
  trainer("echo first; echo something broke >&2; exit 7");
  const RunRecord record = run_one();
  EXPECT_EQ(record.train.outcome, outcome::kCrashed);
  EXPECT_THAT(record.train.message, HasSubstr("exit code 7"));
  EXPECT_THAT(record.train.message, HasSubstr("something broke"));
  EXPECT_EQ(record.bits_per_byte(), std::nullopt);
}

TEST_F(ProcessRunnerTest, ATypedOutcomeOfTheTrainerIsKeptAndNothingIsScored) {
  trainer(
      R"(echo '{"outcome": "diverged", "message": "loss is NaN at step 2"}' > $RUN/train.json)");
  const RunRecord record = run_one();
  EXPECT_EQ(record.train.outcome, outcome::kDiverged);
  EXPECT_FALSE(record.evaluation.has_value());
  EXPECT_EQ(base::to_json(record)["evaluation"], nullptr);
}

TEST_F(ProcessRunnerTest, AKilledTrainerIsToldFromACrash) {
  trainer("kill -9 $$");
  EXPECT_THAT(run_one().train.message, HasSubstr("memory runs out"));
}

TEST_F(ProcessRunnerTest, AFailingEvaluationNeverLooksLikeAScore) {
  trainer(good_training(), "exit 1");
  const RunRecord record = run_one();
  EXPECT_EQ(record.train.outcome, outcome::kCrashed);
  EXPECT_THAT(record.train.message, HasSubstr("evaluation failed"));
  EXPECT_EQ(record.bits_per_byte(), std::nullopt);
}

TEST_F(ProcessRunnerTest, AScoreOfOtherWeightsOrAnotherTextIsRefused) {
  EvaluationResult other = evaluation();
  other.weights_sha256 = "x";
  trainer(good_training(), writes(other));
  EXPECT_THAT(run_one().train.message, HasSubstr("other weights"));
  other = evaluation();
  other.validation_text_sha256 = "other";
  trainer(good_training(), writes(other));
  EXPECT_THAT(run_one().train.message, HasSubstr("another text"));
}

TEST_F(ProcessRunnerTest, StaleResultsOfAnEarlierAttemptAreNotTaken) {
  trainer(good_training());
  run_one();
  trainer("exit 1");
  EXPECT_EQ(run_one().train.outcome, outcome::kCrashed);
}

TEST_F(ProcessRunnerTest, RunsShareTheSlots) {
  trainer("sleep 0.5\n" + good_training());
  const auto two = runner(2);
  const auto start = std::chrono::steady_clock::now();
  two->start(request("a"));
  two->start(request("b"));
  int ended = 0;
  while (ended < 2) ended += two->poll().has_value() ? 1 : 0;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(950));
}

TEST_F(ProcessRunnerTest, AKeyVariableDoesNotReachTheChild) {
  ::setenv("WINDTUNNEL_TEST_KEY", "canary-value", 1);
  base::secret_from_environment("WINDTUNNEL_TEST_KEY");
  trainer("env > $RUN/environment\n" + good_training());
  run_one();
  EXPECT_THAT(base::read_file(folder_ / "runs/r1/environment"),
              ::testing::Not(HasSubstr("canary-value")));
}

TEST_F(ProcessRunnerTest, ProgressShowsTheLastCompleteLineOfTheCurve) {
  trainer(
      R"(printf '{"step": 1}\n{"step": 2, "tokens_per_second": 5}\n{"ste' > $RUN/curve.jsonl; sleep 5)");
  const auto one = runner();
  one->start(request("r1"));
  for (int i = 0; i < 20 && one->progress()[0].latest.step == 0; ++i) one->poll();
  EXPECT_EQ(one->progress()[0].latest.step, 2);
  EXPECT_EQ(one->progress()[0].phase, "training");
  one->stop_all();
  EXPECT_EQ(one->running(), 0);
}

TEST_F(ProcessRunnerTest, MissingRunsAreRunAndFinishedOnesAreNot) {
  trainer(good_training());
  Journal journal(folder_ / "journal.db");
  const auto one = runner();
  const std::vector<PlannedRun> plan{{request("a", 1), 0}, {request("b", 2), 0}};
  run_missing({plan[0]}, journal, *one, folder_.path());
  const auto trained = fs::last_write_time(run_folder("a") / "train.json");
  const auto records = run_missing(plan, journal, *one, folder_.path());
  EXPECT_EQ(records[0].id, "a");
  EXPECT_EQ(records[1].id, "b");
  EXPECT_EQ(fs::last_write_time(run_folder("a") / "train.json"), trained);
  EXPECT_EQ(journal.run("a")->attempts, 1);
}

TEST_F(ProcessRunnerTest, ARecordThatTheJournalMissedIsAdoptedNotRepeated) {
  trainer(good_training());
  Journal journal(folder_ / "journal.db");
  const auto one = runner();
  journal.intend_run("a", "run", std::nullopt, 1);
  one->start(request("a"));
  while (!one->poll()) {
  }
  const auto trained = fs::last_write_time(run_folder("a") / "train.json");
  const auto records = run_missing({{request("a"), 0}}, journal, *one, folder_.path());
  EXPECT_EQ(records[0].bits_per_byte(), 2.5);
  EXPECT_EQ(fs::last_write_time(run_folder("a") / "train.json"), trained);
  EXPECT_EQ(journal.run("a")->state, "finished");
}

}  // namespace
}  // namespace windtunnel::study

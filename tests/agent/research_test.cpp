#include "agent/research.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <map>

#include "agent/summary.h"
#include "base/error.h"
#include "tests/agent/small_night.h"

namespace windtunnel::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Research, ANightMeasuresNoiseThenDecidesAsManyExperimentsAsPlanned) {
  Study study;
  Program program = small_program();
  program.queue = {idea(learning_rate(0.05)), idea(learning_rate(0.004))};
  EXPECT_EQ(study.night(program, valley), "experiments_done");

  const auto verdicts = study.verdicts();
  ASSERT_EQ(verdicts.size(), 4U);
  EXPECT_EQ(verdicts[0], "keep");
  EXPECT_EQ(verdicts[1], "discard");
  const NightSummary summary = summarise(*study.journal);
  EXPECT_EQ(summary.decided(), 4);
  EXPECT_EQ(summary.stop_reason, "experiments_done");
  EXPECT_LT(*summary.best_bits_per_byte, *summary.baseline_bits_per_byte);
  EXPECT_GT(summary.noise->pair_degrees, 0);
  EXPECT_EQ(study.journal->experiments()[1].parent, 1);
  EXPECT_THAT(study.view.lines[0], HasSubstr("baseline: "));
  EXPECT_THAT(study.view.lines[1], HasSubstr("plan: 4 experiments of 2 to 4 pairs"));
  EXPECT_THAT(study.view.lines[2], HasSubstr("experiment 1 keep: "));
  EXPECT_THAT(study.view.lines.back(), HasSubstr("experiments_done: 4 experiments decided"));
}

TEST(Research, BaselinesComeFirstAndBothSlotsWork) {
  Study study;
  ScriptedRunner runner(study.folder.path(), 2, valley);
  study.night(small_program(), runner);
  EXPECT_THAT(std::vector<std::string>(runner.started.begin(), runner.started.begin() + 6),
              ElementsAre("baseline-s1", "baseline-s2", "baseline-s3", "baseline-s4", "e001-s1",
                          "e001-s2"));
  EXPECT_EQ(runner.most_in_flight, 2);
}

TEST(Research, TheHarnessOwnsTheSeeds) {
  Study study;
  study.night(small_program(), [](const RunRequest& request, RunRecord& record) {
    EXPECT_THAT(request.id, ::testing::EndsWith("-s" + std::to_string(record.seed)));
    valley(request, record);
  });
}

TEST(Research, AFinishedNightReturnsAtOnce) {
  Study study;
  study.night(small_program(), valley);
  const Json before = content(*study.journal);
  ScriptedRunner runner(study.folder.path(), 2, valley);
  EXPECT_EQ(study.night(small_program(), runner), "experiments_done");
  EXPECT_TRUE(runner.started.empty());
  EXPECT_EQ(content(*study.journal), before);
}

TEST(Research, ALongerNightGoesOnWhereTheShorterOneEnded) {
  Study study;
  study.night(small_program(), valley);
  Program longer = small_program();
  longer.night.experiments = 6;
  EXPECT_EQ(study.night(longer, valley), "experiments_done");
  EXPECT_EQ(summarise(*study.journal).decided(), 6);
}

TEST(Research, ARunThatDoesNotCompleteFailsItsExperimentAndIsNeverCompared) {
  Study study;
  Program program = small_program();
  program.night.experiments = 1;
  program.queue = {idea(learning_rate(0.4))};
  study.night(program, [](const RunRequest& request, RunRecord& record) {
    valley(request, record);
    if (request.id != "e001-s2") return;
    record.train.outcome = study::outcome::kDiverged;
    record.train.message = "the loss is not finite at step 7";
    record.evaluation.reset();
  });
  const study::Decision decision = *study.journal->experiments()[0].decision;
  EXPECT_EQ(decision.verdict, "failed");
  EXPECT_EQ(decision.reason, "run e001-s2 ended as diverged: the loss is not finite at step 7");
  EXPECT_FALSE(decision.delta_bits_per_byte);
  EXPECT_EQ(decision.pairs, 0);
}

TEST(Research, RunsThatCameOutIncomparableFailTheExperiment) {
  Study study;
  Program program = small_program();
  program.night.experiments = 1;
  program.queue = {idea(learning_rate(0.05))};
  study.night(program, [](const RunRequest& request, RunRecord& record) {
    valley(request, record);
    if (request.purpose == "candidate") record.comparability_key = "elsewhere";
  });
  const study::Decision decision = *study.journal->experiments()[0].decision;
  EXPECT_EQ(decision.verdict, "failed");
  EXPECT_THAT(decision.reason, HasSubstr("cannot be compared with run baseline-s1"));
}

TEST(Research, ABetterCandidateWithACollapsedRouterIsToBeRepaired) {
  Study study;
  Program program = small_program();
  program.night.experiments = 1;
  program.queue = {idea(learning_rate(0.1))};
  study.night(program, [](const RunRequest& request, RunRecord& record) {
    valley(request, record);
    if (request.purpose == "candidate") {
      record.evaluation->router_health = {
          {.position = 1, .load_entropy = 0.02, .load_cv = 2.5, .max_load = 0.97}};
    }
  });
  const study::Decision decision = *study.journal->experiments()[0].decision;
  EXPECT_EQ(decision.verdict, "repair");
  EXPECT_THAT(decision.reason, HasSubstr("router_collapse"));
  EXPECT_EQ(summarise(*study.journal).incumbent, 0);
}

TEST(Research, VetoedProposalsAreKeptButDoNotCount) {
  Study study;
  Program program = small_program();
  program.night.experiments = 2;
  program.queue = {idea({{"train.seed", 42}}), idea(learning_rate(0.05)), idea(learning_rate(7.0))};
  EXPECT_EQ(study.night(program, valley), "experiments_done");
  const auto verdicts = study.verdicts();
  EXPECT_EQ(verdicts.size(), 4U);
  EXPECT_EQ(verdicts[0], "vetoed");
  EXPECT_EQ(verdicts[2], "vetoed");
  EXPECT_THAT(study.journal->experiments()[0].decision->reason, HasSubstr("train.seed"));
}

TEST(Research, StopsAfterFailuresInARow) {
  Study study;
  Program program = small_program();
  program.night.experiments = 20;
  program.night.max_consecutive_failures = 3;
  EXPECT_EQ(study.night(program,
                        [](const RunRequest& request, RunRecord& record) {
                          valley(request, record);
                          if (request.purpose == "baseline") return;
                          record.train.outcome = study::outcome::kCrashed;
                          record.evaluation.reset();
                        }),
            "consecutive_failures");
  EXPECT_EQ(study.verdicts(), (std::vector<std::string>{"failed", "failed", "failed"}));
}

TEST(Research, StopsAtAPlateau) {
  Study study;
  Program program = small_program();
  program.night.experiments = 20;
  program.night.plateau_experiments = 2;
  EXPECT_EQ(study.night(program,
                        [](const RunRequest& request, RunRecord& record) {
                          complete(request, record, request.purpose == "baseline" ? 2.5 : 2.8);
                        }),
            "plateau");
  EXPECT_EQ(study.verdicts().size(), 2U);
}

TEST(Research, StopsWhenTheTimeIsSpent) {
  Study study;
  Program program = small_program();
  program.night.experiments = 20;
  program.budget.device_seconds = 80;  // four baselines take 4 x 12 s
  EXPECT_EQ(study.night(program, valley), "device_seconds_spent");
  EXPECT_LT(study.verdicts().size(), 4U);
}

TEST(Research, StopsWhenNothingIsLeftToPropose) {
  Study study;
  Program program = small_program();
  program.mutable_paths = {
      {.path = "train.optimizer.learning_rate", .choices = {Json(0.02), Json(0.05)}}};
  EXPECT_EQ(study.night(program, valley), "no_proposals");
  EXPECT_EQ(study.verdicts().size(), 1U);
}

TEST(Research, AMissingSeedOfTheIncumbentIsRunForThePair) {
  Study study;
  Program program = small_program();
  program.night.baseline_replicates = 2;
  program.decision.incumbent_runs = 2;
  program.night.experiments = 1;
  program.queue = {idea(learning_rate(0.03))};
  ScriptedRunner runner(study.folder.path(), 2, [](const RunRequest& request, RunRecord& record) {
    // Promising, but not beyond doubt with two pairs.
    const double luck = 0.01 * static_cast<double>(request.config.train.seed % 2);
    complete(request, record, 0);
    record.evaluation->bits_per_byte =
        2.5 + luck - (request.purpose == "candidate" ? 0.02 + 0.3 * luck : 0.0);
  });
  study.night(program, runner);
  EXPECT_THAT(runner.started, Contains("baseline-s3"));
  EXPECT_THAT(runner.started, Contains("baseline-s4"));
  EXPECT_EQ(study.journal->experiments()[0].decision->pairs, 4);
}

TEST(Research, AKeptChangeIsMeasuredOnSeedsThatDidNotChooseItBeforeItIsTheOneToBeat) {
  Study study;
  Program program = small_program();
  program.night.experiments = 2;
  program.decision.incumbent_runs = 3;
  program.queue = {idea(learning_rate(0.03)), idea(learning_rate(0.04))};
  ScriptedRunner runner(study.folder.path(), 2, [](const RunRequest& request, RunRecord& record) {
    complete(request, record, 0);
    const double luck = 0.001 * static_cast<double>(request.config.train.seed % 3);
    record.evaluation->bits_per_byte = 2.5 + luck - (request.purpose == "candidate" ? 0.3 : 0.0);
  });
  study.night(program, runner);
  const auto experiments = study.journal->experiments();
  ASSERT_EQ(experiments[0].decision->verdict, "keep");
  EXPECT_EQ(experiments[0].decision->seeds, (std::vector<int64_t>{1, 2}));
  for (const char* run : {"e001-s3", "e001-s4", "e001-s5"}) {
    EXPECT_THAT(runner.started, Contains(run)) << "measured anew";
  }
  EXPECT_THAT(runner.started, Contains("e002-s3"));
  EXPECT_THAT(runner.started, Not(Contains("e002-s1")));
  ASSERT_EQ(experiments[1].parent, 1);
  EXPECT_EQ(experiments[1].decision->seeds.front(), 3);
}

TEST(Research, WithoutABaselineThereIsNoNight) {
  Study study;
  try {
    study.night(small_program(), [](const RunRequest& request, RunRecord& record) {
      complete(request, record, 2.5);
      if (request.config.train.seed == 1) return;
      record.train.outcome = study::outcome::kOutOfMemory;
      record.train.message = "asked for 9 GB";
      record.evaluation.reset();
    });
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("1 of 4 baseline runs completed, at least 2 are needed"));
    EXPECT_THAT(error.what(), HasSubstr("ended as out_of_memory: asked for 9 GB"));
  }
}

TEST(Research, AChangedBaselineIsRefused) {
  Study study;
  study.night(small_program(), valley);
  Program changed = small_program();
  changed.night.experiments = 9;
  changed.base["train"]["optimizer"]["learning_rate"] = 0.07;
  EXPECT_THROW(study.night(changed, valley), base::Error);
  changed.night.experiments = small_program().night.experiments;
  EXPECT_THROW(study.night(changed, valley), base::Error) << "also where the night has ended";
}

// --- Killed anywhere -----------------------------------------------------------------------------

/// Lets so many commits through on connections opened while it lives; the next ones roll back, as
/// if the process had been killed just before them.
class CommitFuse {
 public:
  explicit CommitFuse(int commits) {
    left = commits;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&install));
  }
  ~CommitFuse() { sqlite3_reset_auto_extension(); }
  static inline int left = 0;

 private:
  static int install(sqlite3* database, char**, const void*) {
    sqlite3_commit_hook(
        database, [](void*) -> int { return left-- <= 0; }, nullptr);
    return 0;
  }
};

Program program_to_kill() {
  Program program = small_program();
  program.night.baseline_replicates = 2;
  program.night.experiments = 4;
  program.queue = {idea({{"train.seed", 3}}), idea(learning_rate(0.03)), idea(learning_rate(0.4))};
  return program;
}

/// True if the night ended, false if it was killed.
bool night_until_killed(const std::filesystem::path& folder, const Program& program, int commits,
                        const ScriptedRunner::Script& script = eventful) {
  CommitFuse fuse(commits);
  LinesOnly view;
  ScriptedRunner runner(folder, 2, script);
  try {
    Journal journal(folder / "journal.db");
    run_night(program, journal, runner, folder, view);
    return true;
  } catch (const std::exception&) {
    EXPECT_LE(CommitFuse::left, 0) << "stopped by something else than the fuse";
    return false;
  }
}

TEST(Research, KilledBeforeAnyWriteItContinuesToTheSameJournal) {
  const Program program = program_to_kill();
  tests::TemporaryFolder whole(tests::memory_folder());
  ASSERT_TRUE(night_until_killed(whole.path(), program, 1'000'000));
  const Json expected = content(Journal(whole / "journal.db", true));
  const int writes = 1'000'000 - CommitFuse::left;
  ASSERT_GT(writes, 20);

  for (int survived = 1; survived < writes; ++survived) {
    tests::TemporaryFolder folder(tests::memory_folder());
    ASSERT_FALSE(night_until_killed(folder.path(), program, survived));
    ASSERT_TRUE(night_until_killed(folder.path(), program, 1'000'000));
    ASSERT_EQ(content(Journal(folder / "journal.db", true)), expected)
        << "killed after " << survived << " writes";
  }
}

TEST(Research, KilledAgainAndAgainItStillArrivesAtTheSameJournal) {
  const Program program = program_to_kill();
  tests::TemporaryFolder whole(tests::memory_folder());
  ASSERT_TRUE(night_until_killed(whole.path(), program, 1'000'000));
  const Json expected = content(Journal(whole / "journal.db", true));
  // Fewer than two writes would not start both slots and get anywhere.
  for (const int writes_each : {2, 3, 5}) {
    tests::TemporaryFolder folder(tests::memory_folder());
    int sessions = 1;
    while (!night_until_killed(folder.path(), program, writes_each)) ASSERT_LT(++sessions, 500);
    EXPECT_GT(sessions, 5);
    EXPECT_EQ(content(Journal(folder / "journal.db", true)), expected) << writes_each;
  }
}

TEST(Research, ARunThatTheJournalMissedIsAdoptedNotRepeated) {
  const Program program = program_to_kill();
  tests::TemporaryFolder folder(tests::memory_folder());
  std::map<std::string, int> runs;
  const auto counted = [&](const RunRequest& request, RunRecord& record) {
    ++runs[request.id];
    eventful(request, record);
  };
  for (int sessions = 0; !night_until_killed(folder.path(), program, 2, counted); ++sessions) {
    ASSERT_LT(sessions, 500);
  }
  for (const auto& [id, count] : runs) EXPECT_EQ(count, 1) << id;
}

TEST(Research, AnExceptionOfTheRunnerLosesNothing) {
  const Program program = program_to_kill();
  tests::TemporaryFolder whole(tests::memory_folder());
  ASSERT_TRUE(night_until_killed(whole.path(), program, 1'000'000));
  const Json expected = content(Journal(whole / "journal.db", true));
  tests::TemporaryFolder folder(tests::memory_folder());
  int until_next = 1;
  bool ended = false;
  for (int session = 0; session < 100 && !ended; ++session) {
    int left = until_next;
    LinesOnly view;
    ScriptedRunner runner(folder.path(), 2, [&](const RunRequest& request, RunRecord& record) {
      if (left-- == 0) throw base::Error("killed");
      eventful(request, record);
    });
    Journal journal(folder / "journal.db");
    try {
      run_night(program, journal, runner, folder.path(), view);
      ended = true;
    } catch (const base::Error&) {
    }
  }
  ASSERT_TRUE(ended);
  EXPECT_EQ(content(Journal(folder / "journal.db", true)), expected);
}

}  // namespace
}  // namespace windtunnel::agent

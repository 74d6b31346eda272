#include "agent/replay.h"

#include <gmock/gmock.h>

#include "agent/comparison.h"
#include "agent/decision.h"
#include "agent/explanation.h"
#include "tests/agent/small_night.h"

namespace windtunnel::agent {
namespace {

using ::testing::HasSubstr;

Program eventful_program() {
  Program program = small_program();
  program.night.experiments = 6;
  program.queue = {idea({{"train.seed", 3}}), idea(learning_rate(0.05)), idea(learning_rate(0.4))};
  return program;
}

TEST(Replay, TheSameRulesComeToTheSameDecisions) {
  Study study;
  study.night(eventful_program(), eventful);
  const Json before = content(*study.journal);
  const Replay result = replay(study.folder.path());
  ASSERT_EQ(result.experiments.size(), study.journal->experiments().size());
  for (const ReplayedExperiment& row : result.experiments) {
    EXPECT_TRUE(row.is_same) << row.number << " " << row.recorded << " " << row.replayed;
    EXPECT_EQ(row.note, "") << "rule-based proposers say the same again";
  }
  EXPECT_TRUE(result.is_same());
  EXPECT_GT(result.runs, 10);
  EXPECT_EQ(content(*study.journal), before) << "a replay changes nothing";
}

TEST(Replay, AChangedRuleShowsWhichDecisionsItChanges) {
  Study study;
  Program program = small_program();
  program.night.experiments = 1;
  program.queue = {idea(learning_rate(0.03))};
  study.night(program, valley);
  ASSERT_EQ(study.journal->experiment(1)->decision->verdict, "keep");
  const Replay result = replay(study.folder.path(), {"decision.minimum_gain=1"});
  EXPECT_FALSE(result.is_same());
  EXPECT_EQ(result.experiments.at(0).recorded, "keep");
  EXPECT_EQ(result.experiments.at(0).replayed, "discard");
}

TEST(Replay, RunsThatWereNeverMadeAreNotInvented) {
  Study study;
  Program program = small_program();
  program.night.experiments = 1;
  program.queue = {idea(learning_rate(0.03))};
  study.night(program, valley);
  const Replay result =
      replay(study.folder.path(), {"decision.min_pairs=16", "decision.max_pairs=16"});
  EXPECT_EQ(result.experiments.at(0).replayed, "failed");
  EXPECT_THAT(result.experiments.at(0).note, HasSubstr("never made the runs"));
}

TEST(Replay, WithoutANightThereIsNothingToReplay) {
  Study study;
  EXPECT_THROW(replay(study.folder.path()), base::Error);
}

TEST(Comparison, IsPairedOverSharedSeedsAndSaysWhereSelectionFlatters) {
  Study study;
  Program program = small_program();
  program.night.experiments = 1;
  program.queue = {idea(learning_rate(0.1))};
  study.night(program, valley);
  const Comparison result = compare(*study.journal, 1, 0);
  EXPECT_TRUE(result.is_paired);
  EXPECT_TRUE(result.is_selected);
  ASSERT_GE(result.pairs.size(), 2U);
  double mean = 0;
  for (const SeedDifference& pair : result.pairs) {
    mean += (pair.first - pair.second) / static_cast<double>(result.pairs.size());
  }
  EXPECT_NEAR(result.delta_bits_per_byte, mean, 1e-12);
  EXPECT_LT(result.interval_low_95, result.interval_low_80);
  const Comparison turned = compare(*study.journal, 0, 1);
  EXPECT_NEAR(turned.delta_bits_per_byte, -mean, 1e-12);
  EXPECT_NEAR(turned.interval_high_80, -result.interval_low_80, 1e-12);
}

TEST(Comparison, AcrossKeysIsRefused) {
  Study study;
  Program program = small_program();
  program.night.experiments = 1;
  program.queue = {idea(learning_rate(0.05))};
  study.night(program, [](const RunRequest& request, RunRecord& record) {
    valley(request, record);
    if (request.purpose == "candidate") record.comparability_key = "elsewhere";
  });
  EXPECT_THROW(compare(*study.journal, 1, 0), NotComparable);
}

TEST(Explanation, HasTheTestTheSeedsTheStepsAndTheReason) {
  Study study;
  study.night(eventful_program(), eventful);
  const Json all = explanation(*study.journal, 2);
  EXPECT_EQ(all["decision"]["verdict"], "keep");
  EXPECT_EQ(all["test"]["looks"][0], 2);
  EXPECT_EQ(all["test"]["looks"].size(), all["test"]["levels"].size());
  EXPECT_EQ(all["pairs"].size(), all["decision"]["pairs"]);
  EXPECT_TRUE(all["pairs"][0]["candidate"].is_number());
  EXPECT_EQ(all["steps"][0]["state"], "proposed");
  EXPECT_EQ(all["steps"].back()["state"], "decided");
  const std::string text = explanation_text(*study.journal, 2);
  EXPECT_THAT(text, HasSubstr("after 2 pairs it is kept if noise alone does as well with p < "));
  EXPECT_THAT(text, HasSubstr("allowing for the gate having let it pass, expect"));
  EXPECT_THAT(explanation_text(*study.journal, 1), HasSubstr("vetoed"));
  EXPECT_THROW(explanation(*study.journal, 99), base::Error);
}

}  // namespace
}  // namespace windtunnel::agent

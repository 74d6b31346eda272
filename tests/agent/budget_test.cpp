#include "agent/budget.h"

#include <gmock/gmock.h>

#include "agent/facts.h"
#include "tests/agent/small_night.h"

namespace windtunnel::agent {
namespace {

using ::testing::HasSubstr;

void finish(Journal& journal, const std::string& id, double seconds) {
  journal.intend_run(id, "candidate", 1, 1);
  RunRecord record;
  record.id = id;
  record.wall_seconds = seconds;
  journal.finish_run(record);
}

TEST(Budget, IsSetAsideBeforeAndSettledByWhatTheRunsTook) {
  Journal journal(":memory:");
  Budget budget({.device_seconds = 100}, journal);
  EXPECT_FALSE(budget.reserve_runs(1, 2, 30));
  EXPECT_EQ(budget.remaining(5).device_seconds, 40);
  EXPECT_THAT(*budget.reserve_runs(2, 2, 30),
              HasSubstr("budget.device_seconds = 100: 60 are spent or set aside, 60 more"));
  finish(journal, "a", 10);
  finish(journal, "b", 12);
  budget.settle_runs(1);
  EXPECT_EQ(budget.remaining(5).device_seconds, 78);
  EXPECT_EQ(budget.remaining(5).runs, std::nullopt);
  budget.settle_runs(1);
  EXPECT_EQ(journal.spent(resource::kDeviceSeconds), 22) << "settled once";
}

TEST(Budget, WhatIsSetAsideForAnExperimentIsNotSetAsideAgain) {
  Journal journal(":memory:");
  Budget budget({.device_seconds = 100}, journal);
  EXPECT_FALSE(budget.reserve_runs(1, 2, 30));
  EXPECT_FALSE(budget.reserve_runs(1, 2, 30));
  EXPECT_EQ(journal.spent(resource::kDeviceSeconds), 60);
}

TEST(Budget, AMissingUsageChargesTheReservation) {
  Journal journal(":memory:");
  Budget budget({.dollars = 1}, journal);
  const auto call = budget.reserve_dollars(0.4);
  ASSERT_TRUE(call);
  budget.settle_dollars(*call, std::nullopt);
  EXPECT_EQ(budget.remaining(1).dollars, 0.6);
  const auto cheap = budget.reserve_dollars(0.5);
  budget.settle_dollars(*cheap, 0.1);
  EXPECT_NEAR(*budget.remaining(1).dollars, 0.5, 1e-12);
  EXPECT_FALSE(budget.is_out_of_dollars());
  EXPECT_FALSE(budget.reserve_dollars(0.6));
  EXPECT_TRUE(budget.is_out_of_dollars());
  EXPECT_FALSE(budget.reserve_dollars(std::nullopt))
      << "an unknown price is not made under a limit";
}

TEST(Budget, ACallThatACrashCutOffIsChargedInFull) {
  Journal journal(":memory:");
  {
    Budget budget({.dollars = 1}, journal);
    budget.reserve_dollars(0.3);
  }
  Budget again({.dollars = 1}, journal);
  EXPECT_NEAR(*again.remaining(1).dollars, 0.7, 1e-12);
  EXPECT_TRUE(journal.open_reservations().empty());
}

TEST(Budget, NamesWhatIsExhausted) {
  Journal journal(":memory:");
  Budget runs({.runs = 3}, journal);
  EXPECT_FALSE(runs.exhausted(3, 10));
  EXPECT_EQ(runs.exhausted(4, 10), stop_reason::kRunsSpent);
  Budget hours({.hours = 2}, journal);
  hours.add_hours(1.5);
  EXPECT_FALSE(hours.exhausted(1, 1));
  hours.add_hours(0.5);
  EXPECT_EQ(hours.exhausted(1, 1), stop_reason::kHoursSpent);
  EXPECT_EQ(Budget({.hours = 2}, journal).hours(), 2) << "durable";
}

TEST(Budget, ANightSpendsExactlyWhatItsRunsTook) {
  Study study;
  study.night(small_program(), valley);
  const auto counts = study.journal->run_counts();
  EXPECT_EQ(study.journal->spent(resource::kRuns), static_cast<double>(counts.finished));
  EXPECT_NEAR(study.journal->spent(resource::kDeviceSeconds), counts.wall_seconds, 1e-9);
  EXPECT_TRUE(study.journal->open_reservations().empty());
}

TEST(Budget, ABudgetTooSmallForTheBaselineIsSaid) {
  Study study;
  Program program = small_program();
  program.budget.runs = 3;
  try {
    study.night(program, valley);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not reach for its 4 baseline runs: budget.runs = 3"));
  }
}

}  // namespace
}  // namespace windtunnel::agent

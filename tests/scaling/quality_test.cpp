#include "scaling/quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

std::vector<std::string> texts(const std::vector<Observation>& rows) {
  std::vector<std::string> result;
  for (const Flag& flag : flags_of(rows)) {
    result.push_back(flag.kind + ": " + flag.name + ", " + flag.reason);
  }
  return result;
}

std::vector<Observation> rows_of(int count) {
  return tests::rows_of({1.6, 1500, 0.27}, count, 1e11, 1e15, 0.001);
}

TEST(Quality, GoodRowsHaveNoFlags) { EXPECT_TRUE(flags_of(rows_of(20)).empty()); }

TEST(Quality, ADuplicateNamesItsFirst) {
  auto rows = rows_of(5);
  rows.push_back(rows[1]);
  rows.back().name = "copy";
  EXPECT_THAT(texts(rows), testing::ElementsAre("duplicate: copy, same N, D, C and loss as r1"));
}

TEST(Quality, AnOutlierIsNamedWithItsDistance) {
  auto rows = rows_of(20);
  rows[7].loss *= 1.05;
  const auto flags = texts(rows);
  ASSERT_EQ(flags.size(), 1u);
  EXPECT_THAT(flags[0], testing::StartsWith("outlier: r7, loss "));
  EXPECT_THAT(flags[0], testing::HasSubstr("standard deviations"));
}

TEST(Quality, UnfinishedAndUntunedRunsAreFlagged) {
  auto rows = rows_of(3);
  rows[0].schedule_finished = false;
  rows[2].learning_rate_tuned = false;
  EXPECT_THAT(texts(rows), testing::ElementsAre(testing::StartsWith("unfinished_schedule: r0"),
                                                testing::StartsWith("untuned: r2")));
}

TEST(Quality, ALearningRateAtTheEdgeOfItsGridSaysWhereToLook) {
  std::vector<Observation> rows;
  for (const auto& [rate, loss] : {std::pair{0.001, 2.5}, {0.003, 2.4}, {0.009, 2.3}}) {
    rows.push_back(tests::row("lr" + std::to_string(rows.size()), 1e18, loss));
    rows.back().learning_rate = rate;
  }
  EXPECT_THAT(texts(rows),
              testing::ElementsAre("edge_of_grid: lr2, its learning rate 0.009 is the best and the "
                                   "highest of 3; try 0.027"));
  rows[2].loss = 2.45;
  EXPECT_TRUE(flags_of(rows).empty());
}

}  // namespace
}  // namespace windtunnel::scaling

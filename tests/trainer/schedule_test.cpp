#include "trainer/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace windtunnel::trainer {
namespace {

study::ScheduleConfig schedule(const std::string& kind) {
  return {.kind = kind, .warmup_fraction = 0.1, .final_fraction = 0.2};
}

TEST(Schedule, EveryKindRisesLinearlyDuringWarmUp) {
  for (const char* kind : {"cosine", "wsd", "constant"}) {
    EXPECT_EQ(learning_rate_factor(schedule(kind), 0), 0) << kind;
    EXPECT_DOUBLE_EQ(learning_rate_factor(schedule(kind), 0.025), 0.25) << kind;
    EXPECT_DOUBLE_EQ(learning_rate_factor(schedule(kind), 0.1), 1) << kind;
  }
}

TEST(Schedule, CosineFallsToTheFinalFraction) {
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule("cosine"), 0.55), 0.6);  // half-way down
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule("cosine"), 1), 0.2);
}

TEST(Schedule, WsdStaysUpAndFallsOverTheLastFifth) {
  EXPECT_NEAR(learning_rate_factor(schedule("wsd"), 0.8), 1, 1e-12);
  EXPECT_NEAR(learning_rate_factor(schedule("wsd"), 0.9), 0.6, 1e-12);
  EXPECT_NEAR(learning_rate_factor(schedule("wsd"), 1), 0.2, 1e-12);
}

TEST(Schedule, ConstantStaysUp) {
  EXPECT_EQ(learning_rate_factor(schedule("constant"), 0.5), 1);
  EXPECT_EQ(learning_rate_factor(schedule("constant"), 1), 1);
}

TEST(Schedule, NoWarmUpStartsAtThePeak) {
  study::ScheduleConfig config = schedule("cosine");
  config.warmup_fraction = 0;
  EXPECT_EQ(learning_rate_factor(config, 0), 1);
}

TEST(Schedule, AnUnknownKindIsNamed) {
  EXPECT_THAT([] { learning_rate_factor(schedule("stairs"), 0.5); },
              testing::ThrowsMessage<base::Error>(
                  "schedule 'stairs' does not exist; known: constant, cosine, wsd"));
}

}  // namespace
}  // namespace windtunnel::trainer

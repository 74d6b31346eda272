#include "trainer/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"

namespace windtunnel::trainer {
namespace {

study::ScheduleConfig schedule(const std::string& kind) {
  return {.kind = kind, .warmup_fraction = 0.1, .final_fraction = 0.2};
}

TEST(Schedule, EveryKindRisesLinearlyDuringWarmUp) {
  for (const char* kind : {"cosine", "wsd", "constant"}) {
    EXPECT_EQ(learning_rate_factor(schedule(kind), 0, 0), 0) << kind;
    EXPECT_DOUBLE_EQ(learning_rate_factor(schedule(kind), 0.025, 0), 0.25) << kind;
    EXPECT_DOUBLE_EQ(learning_rate_factor(schedule(kind), 0.1, 0), 1) << kind;
  }
}

TEST(Schedule, CosineFallsToTheFinalFraction) {
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule("cosine"), 0.55, 0), 0.6);  // half-way down
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule("cosine"), 1, 0), 0.2);
}

TEST(Schedule, WsdStaysUpAndFallsOverTheLastFifth) {
  EXPECT_NEAR(learning_rate_factor(schedule("wsd"), 0.8, 0), 1, 1e-12);
  EXPECT_NEAR(learning_rate_factor(schedule("wsd"), 0.9, 0), 0.6, 1e-12);
  EXPECT_NEAR(learning_rate_factor(schedule("wsd"), 1, 0), 0.2, 1e-12);
}

TEST(Schedule, ConstantStaysUp) {
  EXPECT_EQ(learning_rate_factor(schedule("constant"), 0.5, 0), 1);
  EXPECT_EQ(learning_rate_factor(schedule("constant"), 1, 0), 1);
}

TEST(Schedule, NoWarmUpStartsAtThePeak) {
  study::ScheduleConfig config = schedule("cosine");
  config.warmup_fraction = 0;
  EXPECT_EQ(learning_rate_factor(config, 0, 0), 1);
}

TEST(Schedule, StepCosineGoesByTheStepAlone) {
  const auto factor = [](double progress, int64_t step) {
    return learning_rate_factor({.kind = "step_cosine"}, progress, step);
  };
  EXPECT_EQ(factor(0.5, 0), 0);
  EXPECT_EQ(factor(0, 100), 1);
  EXPECT_EQ(factor(0, 1000), factor(1, 1000));
  EXPECT_DOUBLE_EQ(factor(0, 2390), 0.1);
  EXPECT_DOUBLE_EQ(factor(0, 50'000), 0.1);
}

/// tests/golden/schedules.py
TEST(Schedule, EveryKindMatchesTheIndependentImplementation) {
  const base::Json golden = base::read_json(WINDTUNNEL_SOURCE_DIR "/tests/golden/schedules.json");
  const auto config_of = [](const base::Json& given) {
    return base::from_json<study::ScheduleConfig>(given["schedule"], "golden");
  };
  for (const base::Json& given : golden["cases"]) {
    for (size_t i = 0; i < golden["progress"].size(); ++i) {
      EXPECT_NEAR(learning_rate_factor(config_of(given), golden["progress"][i], 7),
                  given["factors"][i], 1e-12)
          << given["schedule"] << " at " << golden["progress"][i];
    }
  }
  for (const base::Json& given : golden["step_cases"]) {
    for (size_t i = 0; i < golden["steps"].size(); ++i) {
      EXPECT_NEAR(learning_rate_factor(config_of(given), 0.3, golden["steps"][i]),
                  given["factors"][i], 1e-12)
          << given["schedule"] << " at step " << golden["steps"][i];
    }
  }
}

TEST(Schedule, AnUnknownKindIsNamed) {
  EXPECT_THAT([] { learning_rate_factor(schedule("stairs"), 0.5, 0); },
              testing::ThrowsMessage<base::Error>(
                  "schedule 'stairs' does not exist; known: constant, cosine, step_cosine, wsd"));
}

}  // namespace
}  // namespace windtunnel::trainer

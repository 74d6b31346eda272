#include "agent/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "tests/agent/synthetic_records.h"

namespace windtunnel::agent {
namespace {

TEST(Noise, EqualsLeastSquaresOnIndicatorColumns) {
  const base::Json golden =
      base::read_json(WINDTUNNEL_SOURCE_DIR "/tests/golden/paired_noise.json");
  std::vector<study::RunRecord> records;
  for (const char* name : {"baseline", "a", "b", "c"}) {
    for (const auto& [seed, value] : golden["table"][name].items()) {
      records.push_back(record_with(name, std::stoll(seed), value));
    }
  }
  const Noise noise = measure_noise(records, "key");
  EXPECT_NEAR(*noise.pair_sd, golden["pair_sd"].get<double>(), 1e-9);
  EXPECT_EQ(noise.pair_degrees, golden["pair_degrees"]);
  EXPECT_NEAR(*noise.run_sd, golden["run_sd"].get<double>(), 1e-9);
  EXPECT_EQ(noise.run_degrees, golden["run_degrees"]);
  EXPECT_NEAR(*noise.baseline_sd, golden["baseline_sd"].get<double>(), 1e-9);
}

TEST(Noise, WhatSeedsHaveInCommonDropsOutOfAPair) {
  std::vector<study::RunRecord> records;
  for (int64_t seed = 1; seed <= 4; ++seed) {
    const double luck = 0.05 * static_cast<double>(seed * seed);
    records.push_back(record_with("baseline", seed, 3.0 + luck));
    records.push_back(record_with("other", seed, 2.9 + luck));
  }
  const Noise noise = measure_noise(records, "key");
  EXPECT_GT(*noise.run_sd, 0.1);
  EXPECT_NEAR(*noise.pair_sd, 0, 1e-8);
}

TEST(Noise, BaselinesAloneGiveACarefulPairVariance) {
  const std::vector<study::RunRecord> records = {record_with("baseline", 1, 3.00),
                                                 record_with("baseline", 2, 3.02)};
  const Noise noise = measure_noise(records, "key");
  EXPECT_FALSE(noise.pair_sd);
  EXPECT_EQ(noise.pair_variance().degrees, 1);
  EXPECT_NEAR(noise.pair_variance().value, 2 * 0.0002, 1e-12);
}

TEST(Noise, OtherKeysAndUnfinishedRunsArePassedOver) {
  std::vector<study::RunRecord> records = {
      record_with("baseline", 1, 3.00), record_with("baseline", 2, 3.02),
      record_with("baseline", 3, 9.0, "other key"), record_with("baseline", 4, 9.0)};
  records.back().train.outcome = study::outcome::kDiverged;
  EXPECT_NEAR(*measure_noise(records, "key").run_sd, std::sqrt(0.0002), 1e-12);
}

TEST(Noise, AFarWorseConfigurationHasNoiseOfItsOwn) {
  std::vector<study::RunRecord> records = {record_with("baseline", 1, 3.00),
                                           record_with("baseline", 2, 3.02)};
  const Noise before = measure_noise(records, "key");
  records.push_back(record_with("half diverged", 1, 4.0));
  records.push_back(record_with("half diverged", 2, 5.0));
  EXPECT_EQ(base::to_json(measure_noise(records, "key")), base::to_json(before));
}

TEST(Noise, NothingMeasuredIsNullAndNotZero) {
  const Noise noise = measure_noise({}, "key");
  EXPECT_TRUE(base::to_json(noise)["run_sd"].is_null());
  EXPECT_EQ(noise.pair_variance().degrees, 0);
}

TEST(Noise, SurvivesItsJsonForm) {
  const Noise noise =
      measure_noise({record_with("baseline", 1, 3.00), record_with("baseline", 2, 3.02)}, "key");
  EXPECT_EQ(base::to_json(base::from_trusted_json<Noise>(base::to_json(noise))),
            base::to_json(noise));
}

}  // namespace
}  // namespace windtunnel::agent

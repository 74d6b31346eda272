#include "study/quarantine.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/files.h"
#include "base/random.h"
#include "study/stall_watch.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::study {
namespace {

using ::testing::HasSubstr;

RunRecord scored(const std::string& id, double bits, std::optional<double> flops,
                 const std::string& data = "data") {
  RunRecord record;
  record.id = id;
  record.data_fingerprint = data;
  record.train.outcome = outcome::kCompleted;
  record.train.flops_exact = flops;
  record.evaluation.emplace();
  record.evaluation->bits_per_byte = bits;
  return record;
}

TEST(LowestPlausible, OfNoiseIsAQuarterOfEightBits) {
  const tests::TemporaryFolder folder;
  base::RandomStream random(1, "noise");
  std::string text(100'000, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  base::write_file_atomic(folder / "validation.text", text);
  EXPECT_NEAR(lowest_plausible_bits_per_byte(folder.path()), 2, 0.01);
}

TEST(SeenScores, LimitAGainByWhatAMillionfoldComputeWouldGive) {
  SeenScores seen;
  EXPECT_FALSE(seen.limit(scored("new", 1, 1e9), 8));
  seen.add(scored("old", 2, 1e9));
  EXPECT_NEAR(seen.limit(scored("new", 1, 1e9), 8)->bits_per_byte, 2 * 0.5011872336272722, 1e-12);
  EXPECT_EQ(seen.limit(scored("new", 1, 1e9), 8)->run, "old");
  // Less compute earns nothing, more earns its share.
  EXPECT_EQ(seen.limit(scored("new", 1, 1e6), 8)->bits_per_byte,
            seen.limit(scored("new", 1, 1e9), 8)->bits_per_byte);
  EXPECT_NEAR(seen.limit(scored("new", 1, 1e12), 8)->bits_per_byte, 2 * std::pow(1e9, -0.05),
              1e-12);
}

TEST(SeenScores, OtherDataAndRunsWithoutAScoreSayNothing) {
  SeenScores seen;
  seen.add(scored("old", 2, 1e9, "other data"));
  RunRecord failed = scored("failed", 0.01, 1e9);
  failed.train.outcome = outcome::kQuarantined;
  seen.add(failed);
  EXPECT_FALSE(seen.limit(scored("new", 1, 1e9), 8));
}

TEST(SeenScores, ARunThatHasHardlyLearntSaysNothing) {
  SeenScores seen;
  seen.add(scored("old", 2, 1e9));
  EXPECT_TRUE(seen.limit(scored("new", 1, 1e9), 2.1));
  EXPECT_FALSE(seen.limit(scored("new", 1, 1e9), 2.0));
}

TEST(SeenScores, TheBestRunSeenSetsTheLimit) {
  SeenScores seen;
  seen.add(scored("worse", 2, 1e9));
  seen.add(scored("better", 1.5, 1e9));
  EXPECT_EQ(seen.limit(scored("new", 1, 1e9), 8)->run, "better")
      << "many small gains may add up to a large one";
}

JobLimits quick() {
  JobLimits limits;
  limits.silence_seconds = 300;
  limits.stall_seconds = 60;
  limits.stall_factor = 20;
  return limits;
}

TEST(StallWatch, WaitsLongerForARunThatIsSlow) {
  StallWatch fast(quick()), slow(quick());
  for (int i = 1; i <= 5; ++i) {
    fast.saw(i, i);
    slow.saw(i, 100.0 * i);
  }
  EXPECT_EQ(fast.problem(5 + 59), "");
  EXPECT_THAT(fast.problem(5 + 61), HasSubstr("no step after step 5"));
  EXPECT_EQ(slow.problem(500 + 1999), "");
  EXPECT_THAT(slow.problem(500 + 2001), HasSubstr("no step after step 5"));
}

TEST(StallWatch, StepsThatGoBackAreNoProgress) {
  StallWatch watch(quick());
  watch.saw(10, 0);
  watch.saw(11, 1);
  watch.saw(3, 50);
  watch.saw(11, 55);
  EXPECT_THAT(watch.problem(62), HasSubstr("no step after step 11"));
}

TEST(StallWatch, WithOnePointThereIsNoSpeedYet) {
  StallWatch watch(quick());
  EXPECT_EQ(watch.problem(1e9), "") << "before the first step others watch";
  watch.saw(1, 0);
  EXPECT_EQ(watch.problem(299), "");
  EXPECT_THAT(watch.problem(301), HasSubstr("no step after step 1"));
}

}  // namespace
}  // namespace windtunnel::study

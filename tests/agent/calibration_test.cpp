#include "agent/calibration.h"

#include <gtest/gtest.h>

namespace windtunnel::agent {
namespace {

study::Experiment scored(const std::string& proposer, double predicted, double measured,
                         double probability, const char* verdict, bool covered) {
  study::Experiment experiment;
  experiment.proposal.proposer = proposer;
  experiment.proposal.prediction.delta_bits_per_byte = predicted;
  experiment.proposal.prediction.probability_kept = probability;
  experiment.decision.emplace();
  experiment.decision->verdict = verdict;
  experiment.decision->delta_bits_per_byte = measured;
  experiment.decision->prediction_covered = covered;
  return experiment;
}

TEST(Calibration, ScoresEachProposerAndAllTogether) {
  const auto rows = calibrate({scored("queue", -0.05, -0.03, 0.8, "keep", true),
                               scored("queue", -0.05, 0.05, 0.6, "discard", false),
                               scored("random", 0.0, 0.02, 0.0, "discard", true)});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].proposer, "all");
  EXPECT_EQ(rows[0].measured, 3);
  EXPECT_NEAR(*rows[0].interval_coverage, 2.0 / 3, 1e-12);
  EXPECT_EQ(rows[1].proposer, "queue");
  EXPECT_NEAR(*rows[1].bias_bits_per_byte, -0.06, 1e-12);
  EXPECT_NEAR(*rows[1].mean_absolute_error_bits_per_byte, 0.06, 1e-12);
  EXPECT_NEAR(*rows[1].brier_score, (0.04 + 0.36) / 2, 1e-12);
  EXPECT_NEAR(*rows[2].brier_score, 0, 1e-12);
}

TEST(Calibration, AFailedExperimentWasNotKeptAndAVetoedOneNeverRan) {
  study::Experiment failed = scored("queue", -0.05, 0, 1.0, "failed", true);
  failed.decision->delta_bits_per_byte.reset();
  const auto rows = calibrate({failed, scored("queue", -0.05, 0, 0.5, "vetoed", true)});
  EXPECT_EQ(rows[0].measured, 0);
  EXPECT_FALSE(rows[0].interval_coverage);
  EXPECT_EQ(rows[0].probabilities, 1);
  EXPECT_NEAR(*rows[0].brier_score, 1.0, 1e-12);
}

TEST(Calibration, WithoutExperimentsFiguresAreNull) {
  const auto rows = calibrate({});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(base::to_json(rows[0])["brier_score"].is_null());
}

}  // namespace
}  // namespace windtunnel::agent

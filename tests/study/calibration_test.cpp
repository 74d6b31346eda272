#include "study/calibration.h"

#include <gtest/gtest.h>

#include <deque>

namespace windtunnel::study {
namespace {

/// A journal of experiments as they came out.
class Outcomes {
 public:
  Experiment& add(const std::string& proposer, double predicted, double measured,
                  double probability, const char* verdict, bool covered) {
    Experiment& experiment = experiments_.emplace_back();
    experiment.proposal.proposer = proposer;
    experiment.proposal.family = "routing";
    experiment.proposal.prediction.delta_bits_per_byte = predicted;
    experiment.proposal.prediction.probability_kept = probability;
    experiment.decision.emplace();
    experiment.decision->verdict = verdict;
    experiment.decision->delta_bits_per_byte = measured;
    experiment.decision->prediction_covered = covered;
    return experiment;
  }

  std::vector<Calibration> calibration() const {
    Journal journal(":memory:");
    for (const Experiment& experiment : experiments_) {
      journal.decide(journal.add_experiment(experiment), *experiment.decision);
    }
    return calibrate(journal.scored_groups());
  }

 private:
  std::deque<Experiment> experiments_;
};

TEST(Calibration, ScoresEachProposerAndAllTogether) {
  Outcomes outcomes;
  outcomes.add("queue", -0.05, -0.03, 0.8, "keep", true);
  outcomes.add("queue", -0.05, 0.05, 0.6, "discard", false);
  outcomes.add("random", 0.0, 0.02, 0.0, "discard", true);
  const auto rows = outcomes.calibration();
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
  Outcomes outcomes;
  outcomes.add("queue", -0.05, 0, 1.0, "failed", true).decision->delta_bits_per_byte.reset();
  outcomes.add("queue", -0.05, 0, 0.5, "vetoed", true);
  const auto rows = outcomes.calibration();
  EXPECT_EQ(rows[0].measured, 0);
  EXPECT_FALSE(rows[0].interval_coverage);
  EXPECT_EQ(rows[0].vetoed, 1);
  EXPECT_EQ(rows[0].probabilities, 1);
  EXPECT_NEAR(*rows[0].brier_score, 1.0, 1e-12);
}

TEST(Calibration, ScoresFamiliesOfAProposerThatHasSeveral) {
  Outcomes outcomes;
  outcomes.add("queue", -0.05, -0.03, 0.5, "discard", true).proposal.family = "learning rate";
  outcomes.add("queue", -0.05, 0.01, 0.5, "discard", false);
  const auto rows = outcomes.calibration();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[2].family, "learning rate");
  EXPECT_EQ(rows[2].covered, 1);
  EXPECT_EQ(rows[3].family, "routing");
  EXPECT_NEAR(*rows[3].bias_bits_per_byte, -0.06, 1e-12);
}

TEST(Calibration, ScoresThePredictedThroughput) {
  Outcomes outcomes;
  Experiment& faster = outcomes.add("queue", -0.05, -0.03, 0.5, "keep", true);
  faster.proposal.prediction.throughput_change = 0.2;
  faster.decision->throughput_change = 0.05;
  outcomes.add("queue", 0, 0, 0.5, "discard", true);
  const auto rows = outcomes.calibration();
  EXPECT_EQ(rows[0].throughputs, 1);
  EXPECT_NEAR(*rows[0].mean_absolute_error_throughput, 0.15, 1e-12);
}

TEST(Calibration, ControlsOfTheHarnessCountNowhere) {
  Outcomes outcomes;
  outcomes.add("harness", -0.05, 0.2, 0.5, "control", false).proposal.kind = kind::kMatchedSteps;
  const auto rows = outcomes.calibration();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].decided, 0);
}

TEST(Calibration, WithoutExperimentsFiguresAreNull) {
  const auto rows = Outcomes().calibration();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(base::to_json(rows[0])["brier_score"].is_null());
}

}  // namespace
}  // namespace windtunnel::study

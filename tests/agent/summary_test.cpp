#include "agent/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/agent/synthetic_records.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::agent {
namespace {

using study::Journal;

void finished(Journal& journal, int64_t experiment, const std::string& config, int64_t seed,
              double bits_per_byte) {
  const study::RunRecord record = record_with(config, seed, bits_per_byte);
  journal.intend_run(record.id, experiment == 0 ? "baseline" : "candidate", experiment, seed);
  journal.finish_run(record);
}

int64_t decided(Journal& journal, const char* verdict, double delta) {
  study::Experiment experiment;
  experiment.proposal.hypothesis = "it helps";
  experiment.proposal.proposer = "queue";
  experiment.proposal.patch = {{"model.width", 48}};
  experiment.config = {{"model", {{"width", 48}}}};
  const int64_t number = journal.add_experiment(experiment);
  study::Decision decision;
  decision.verdict = verdict;
  decision.delta_bits_per_byte = delta;
  decision.expected_delta_bits_per_byte = 0.9 * delta;
  decision.interval_low = delta - 0.02;
  decision.interval_high = delta + 0.02;
  decision.pairs = 4;
  decision.standard_error_bits_per_byte = 0.007;
  decision.noise_bits_per_byte = 0.01;
  journal.decide(number, decision);
  return number;
}

TEST(Summary, ClimbsTheStaircaseOfKeptChanges) {
  tests::TemporaryFolder folder;
  Journal journal(folder / "journal.db");
  journal.set_fact(fact::kBaseline, {{"config", {{"model", {{"width", 32}}}}}});
  finished(journal, 0, "baseline", 1, 3.00);
  finished(journal, 0, "baseline", 2, 3.02);
  const int64_t first = decided(journal, "keep", -0.1);
  finished(journal, first, "first", 1, 2.90);
  decided(journal, "discard", 0.03);
  decided(journal, "failed", 0);
  decided(journal, "vetoed", 0);
  const int64_t second = decided(journal, "keep", -0.05);
  finished(journal, second, "second", 1, 2.85);

  const NightSummary summary = summarise(journal);
  EXPECT_EQ(summary.kept, 2);
  EXPECT_EQ(summary.discarded, 1);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_EQ(summary.vetoed, 1);
  EXPECT_EQ(summary.decided(), 4);
  EXPECT_EQ(summary.runs_completed, 4);
  EXPECT_EQ(summary.incumbent, second);
  EXPECT_NEAR(*summary.baseline_bits_per_byte, 3.01, 1e-12);
  EXPECT_NEAR(*summary.best_bits_per_byte, 2.85, 1e-12);
  ASSERT_EQ(summary.staircase.size(), 2U);
  EXPECT_NEAR(summary.staircase[1].cumulative_delta_bits_per_byte, -0.15, 1e-12);
  EXPECT_GE(summary.staircase[0].expected_delta_bits_per_byte, -0.1);
  EXPECT_EQ(summary.best_config["model"]["width"], 48);
  EXPECT_FALSE(summary.stop_reason);
}

TEST(Summary, OfAnEmptyStudyHoldsZeroCountsAndNulls) {
  tests::TemporaryFolder folder;
  const NightSummary summary = summarise(Journal(folder / "journal.db"));
  EXPECT_EQ(summary.decided(), 0);
  EXPECT_EQ(summary.incumbent, 0);
  const base::Json json = base::to_json(summary);
  EXPECT_TRUE(json["best_bits_per_byte"].is_null());
  EXPECT_TRUE(json["best_config"].is_null());
  EXPECT_TRUE(json["noise"].is_null());
}

}  // namespace
}  // namespace windtunnel::agent

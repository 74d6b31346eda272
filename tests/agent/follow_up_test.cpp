// What the harness adds by itself: repairs, controls, doubts.

#include "agent/follow_up.h"

#include <gmock/gmock.h>

#include "agent/early_abort.h"
#include "agent/summary.h"
#include "base/files.h"
#include "tests/agent/small_night.h"

namespace windtunnel::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Experiment> of_kind(const Journal& journal, const std::string& kind) {
  std::vector<Experiment> found;
  for (const Experiment& experiment : journal.experiments()) {
    if (experiment.proposal.kind == kind) found.push_back(experiment);
  }
  return found;
}

Program one_idea(const Json& patch) {
  Program program = small_program();
  program.night.experiments = 1;
  program.queue = {idea(patch)};
  return program;
}

/// Runs of seconds: half of the gain of a fast rate is speed.
Program timed_program() {
  Program program = one_idea(learning_rate(0.1));
  program.base["train"]["budget"] = {{"kind", "seconds"}, {"amount", 10}};
  return program;
}

void timed(const RunRequest& request, RunRecord& record) {
  const bool is_fast = request.config.train.optimizer.learning_rate == 0.1;
  const bool is_stepped = request.config.train.budget.kind == "steps";
  complete(request, record, 2.5 - (is_fast ? 0.2 : 0.0) - (is_fast && !is_stepped ? 0.1 : 0.0));
  record.train.steps = is_stepped ? static_cast<int64_t>(request.config.train.budget.amount)
                                  : (is_fast ? 1500 : 1000);
  record.train.tokens_per_second = is_fast ? 1500 : 1000;
}

TEST(MatchedSteps, AGainThatMovedThroughputIsSplitIntoSpeedAndLearning) {
  Study study;
  study.night(timed_program(), timed);
  const auto controls = of_kind(*study.journal, "matched_steps");
  ASSERT_EQ(controls.size(), 1U);
  const Experiment& control = controls[0];
  EXPECT_EQ(control.about, 1);
  EXPECT_EQ(control.thread, 1);
  EXPECT_EQ(control.config["train"]["budget"], (Json{{"kind", "steps"}, {"amount", 1000.0}}));
  ASSERT_EQ(control.decision->verdict, "control") << control.decision->reason;
  EXPECT_EQ(control.decision->seeds, study.journal->experiment(1)->decision->seeds);
  ASSERT_EQ(control.decision->parts.size(), 2U);
  const study::Part& learning = control.decision->parts[0];
  const study::Part& speed = control.decision->parts[1];
  EXPECT_EQ(learning.name, "learning");
  // Three standard errors of a mean over two pairs of runs with sd 0.02.
  EXPECT_NEAR(learning.delta_bits_per_byte, -0.2, 3 * kRunSd);
  EXPECT_NEAR(speed.delta_bits_per_byte, -0.1, 3 * kRunSd);
  EXPECT_LT(*learning.interval_low, learning.delta_bits_per_byte);
  EXPECT_GT(*speed.interval_high, speed.delta_bits_per_byte);
  // The two are the whole, seed by seed.
  double whole = 0;
  const auto mean_of = [&](int64_t experiment, int64_t seed) {
    const auto run = study.journal->run(experiment == 0 ? "baseline-s" + std::to_string(seed)
                                                        : "e001-s" + std::to_string(seed));
    return *run->record->bits_per_byte();
  };
  for (const int64_t seed : control.decision->seeds) {
    whole +=
        (mean_of(1, seed) - mean_of(0, seed)) / static_cast<double>(control.decision->seeds.size());
  }
  EXPECT_NEAR(learning.delta_bits_per_byte + speed.delta_bits_per_byte, whole, 1e-12);
}

TEST(MatchedSteps, AreNotRunWhereThroughputStayedOrTheBudgetCountsSteps) {
  Study stayed;
  Program program = timed_program();
  program.controls.matched_steps_above = 0.6;
  stayed.night(program, timed);
  EXPECT_THAT(of_kind(*stayed.journal, "matched_steps"), IsEmpty());
  Study stepped;
  stepped.night(one_idea(learning_rate(0.1)), timed);
  EXPECT_THAT(of_kind(*stepped.journal, "matched_steps"), IsEmpty());
}

TEST(Factors, EachPathOfAKeptChangeIsMeasuredAlone) {
  Study study;
  Program program = one_idea({{"train.optimizer.learning_rate", 0.1}, {"model.width", 48}});
  program.mutable_paths.push_back({.path = "model.width", .choices = {Json(32), Json(48)}});
  study.night(program, valley);  // the width changes nothing
  const auto factors = of_kind(*study.journal, "factor");
  ASSERT_EQ(factors.size(), 2U);
  for (const Experiment& factor : factors) {
    ASSERT_EQ(factor.proposal.patch.size(), 1U);
    const bool is_rate = factor.proposal.patch.contains("train.optimizer.learning_rate");
    EXPECT_NEAR(factor.decision->parts.at(0).delta_bits_per_byte, is_rate ? -0.3 : 0, 3 * kRunSd);
    EXPECT_THAT(factor.decision->reason, HasSubstr("experiment 1 changed"));
  }
  EXPECT_EQ(summarise(*study.journal).incumbent, 1) << "a control is never the incumbent";
}

TEST(ScaleGate, AKeepBecomesAScaleCandidateOnlyWhereItHoldsAtBothSizes) {
  const auto at_size = [](double gain_of_wide) {
    return [gain_of_wide](const RunRequest& request, RunRecord& record) {
      const bool is_wide = request.config.model.width == 64;
      const bool is_changed = request.config.train.optimizer.learning_rate == 0.1;
      complete(request, record,
               (is_wide ? 2.2 : 2.5) - (is_changed ? (is_wide ? gain_of_wide : 0.3) : 0.0));
      record.parameters_active = is_wide ? 40000 : 10000;
    };
  };
  Program program = one_idea(learning_rate(0.1));
  program.scale.patch = {{"model.width", 64}};
  Study holds;
  holds.night(program, at_size(0.2));
  auto checks = of_kind(*holds.journal, "scale");
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].decision->verdict, "scale_candidate") << checks[0].decision->reason;
  EXPECT_THAT(checks[0].decision->reason, HasSubstr("for each e-fold of N, so it shrinks"));
  EXPECT_TRUE(holds.journal->run("e002-reference-s1"));
  Study fails;
  fails.night(program, at_size(0.0));
  checks = of_kind(*fails.journal, "scale");
  EXPECT_EQ(checks[0].decision->verdict, "control");
  EXPECT_THAT(checks[0].decision->reason, HasSubstr("not below 0"));
}

TEST(Repair, ADivergedRunIsTriedOnceMoreWithSmallerSteps) {
  Study study;
  study.night(one_idea(learning_rate(0.4)), [](const RunRequest& request, RunRecord& record) {
    valley(request, record);
    if (request.config.train.optimizer.learning_rate < 0.3) return;
    record.train.outcome = study::outcome::kDiverged;
    record.train.message = "loss NaN at step 3";
    record.evaluation.reset();
  });
  const auto repairs = of_kind(*study.journal, "repair");
  ASSERT_EQ(repairs.size(), 1U);
  EXPECT_EQ(repairs[0].about, 1);
  EXPECT_NEAR(repairs[0].proposal.patch["train.optimizer.learning_rate"].get<double>(), 0.4 / 3,
              1e-12);
  EXPECT_EQ(repairs[0].decision->verdict, "keep");
  EXPECT_EQ(summarise(*study.journal).incumbent, repairs[0].number);
}

TEST(Repair, ARepairThatIsUnfitTooIsLeftAlone) {
  Study study;
  study.night(one_idea(learning_rate(0.4)), [](const RunRequest& request, RunRecord& record) {
    valley(request, record);
    if (request.purpose == "baseline") return;
    record.train.outcome = study::outcome::kDiverged;
    record.evaluation.reset();
  });
  EXPECT_EQ(of_kind(*study.journal, "repair").size(), 1U);
}

TEST(Doubt, AKeptChangeWhoseOwnRunsAreNoBetterIsNotBelieved) {
  Study study;
  Program program = small_program();
  program.night.experiments = 2;
  program.queue = {idea(learning_rate(0.05)), idea(learning_rate(0.03))};
  study.night(program, [](const RunRequest& request, RunRecord& record) {
    complete(request, record, 2.5);
    // Lucky on the seeds that choose it.
    const bool is_lucky = request.id == "e001-s1" || request.id == "e001-s2";
    record.evaluation->bits_per_byte = 2.5 + 0.001 * static_cast<double>(record.seed % 3) -
                                       (is_lucky ? 0.2 : 0.0) +
                                       (request.purpose == "candidate" ? 0.01 : 0.0);
  });
  const auto experiments = study.journal->experiments();
  ASSERT_EQ(experiments[0].decision->verdict, "keep");
  EXPECT_THAT(experiments[0].doubt,
              HasSubstr("on 4 fresh seeds, beside runs of its parent, it differs by"));
  EXPECT_FALSE(experiments[0].is_kept());
  EXPECT_EQ(experiments[1].parent, 0) << "the baseline is the one to beat again";
  const NightSummary summary = summarise(*study.journal);
  EXPECT_EQ(summary.incumbent, 0);
  EXPECT_EQ(summary.kept, 0);
  EXPECT_EQ(summary.doubted, 1);
  EXPECT_TRUE(summary.staircase.empty());
}

TEST(Doubt, MarksAllThatRestsOnAnExperiment) {
  Study study;
  Program program = small_program();
  program.night.experiments = 3;
  program.queue = {idea(learning_rate(0.1)), idea(learning_rate(0.2))};
  study.night(program, valley);
  ASSERT_EQ(study.journal->experiment(2)->parent, 1);
  doubt(*study.journal, 1, "the corpus had duplicates");
  EXPECT_EQ(study.journal->experiment(1)->doubt, "the corpus had duplicates");
  EXPECT_THAT(study.journal->experiment(2)->doubt,
              HasSubstr("it rests on experiment 1, which is no longer believed: the corpus had"));
  EXPECT_EQ(summarise(*study.journal).incumbent, 0);
  EXPECT_THROW(doubt(*study.journal, 9, "x"), base::Error);
}

// --- Giving up early ----------------------------------------------------------------------------

study::CurvePoint point(int64_t step, double progress, double loss) {
  study::CurvePoint result;
  result.step = step;
  result.progress = progress;
  result.loss_nats_per_token = loss;
  return result;
}

TEST(EarlyAbort, ComparesAtTheSameStepAndNotBeforeItsTime) {
  const AbortRule rule{.progress = 0.4, .worse_by = 0.05, .audit_share = 0};
  const std::vector<study::CurvePoint> reference = {point(10, 0.1, 5), point(50, 0.5, 3),
                                                    point(100, 1, 2)};
  EXPECT_FALSE(gives_up(rule, {point(20, 0.2, 50)}, reference)) << "too early";
  EXPECT_FALSE(gives_up(rule, {point(50, 0.5, 3.1)}, reference)) << "within 5 %";
  EXPECT_TRUE(gives_up(rule, {point(50, 0.5, 3.2)}, reference));
  // Half-way between 3 and 2 at step 75.
  EXPECT_FALSE(gives_up(rule, {point(75, 0.75, 2.6)}, reference));
  EXPECT_THAT(*gives_up(rule, {point(75, 0.75, 2.7)}, reference),
              HasSubstr("at step 75 (75 % of its budget)"));
  EXPECT_FALSE(gives_up(rule, {point(150, 0.75, 9)}, reference)) << "beyond the reference";
  EXPECT_FALSE(gives_up({}, {point(75, 0.75, 9)}, reference)) << "off";
}

TEST(EarlyAbort, TheAuditedShareIsDrawnFromTheNightAndTheNumber) {
  const AbortRule rule{.progress = 0.4, .worse_by = 0.05, .audit_share = 0.25};
  int audited = 0;
  for (int64_t number = 1; number <= 2000; ++number) {
    audited += is_audited(rule, 7, number) ? 1 : 0;
    ASSERT_EQ(is_audited(rule, 7, number), is_audited(rule, 7, number));
  }
  EXPECT_NEAR(audited / 2000.0, 0.25, 0.04);  // four standard errors
}

/// Half-way, and as bad as its learning rate says.
class HalfWay : public ScriptedRunner {
 public:
  HalfWay(std::filesystem::path study, const Script& script)
      : ScriptedRunner(study, 1, script), folder_(std::move(study)) {}
  void start(const RunRequest& request) override {
    ScriptedRunner::start(request);
    const double loss = request.purpose == "baseline" ? 3.0 : 4.0;
    std::filesystem::create_directories(folder_ / "runs" / request.id);
    base::write_file_atomic(folder_ / "runs" / request.id / "curve.jsonl",
                            base::to_json(point(50, 0.5, loss)).dump() + "\n" +
                                base::to_json(point(100, 1, loss)).dump() + "\n");
    latest_ = point(50, 0.5, loss);
  }
  std::vector<study::RunProgress> progress() const override {
    auto all = ScriptedRunner::progress();
    for (auto& run : all) run.latest = latest_;
    return all;
  }
  std::optional<RunRecord> poll() override {
    // One look at it while it runs.
    if (!has_shown_) {
      has_shown_ = true;
      return std::nullopt;
    }
    has_shown_ = false;
    return ScriptedRunner::poll();
  }

 private:
  std::filesystem::path folder_;
  study::CurvePoint latest_;
  bool has_shown_ = false;
};

TEST(EarlyAbort, AHopelessCandidateIsGivenUpWithItsReason) {
  Study study;
  Program program = one_idea(learning_rate(0.05));
  program.slots = 1;
  program.abort = {.progress = 0.4, .worse_by = 0.1, .audit_share = 0};
  HalfWay runner(study.folder.path(), valley);
  study.night(program, runner);
  const study::Decision decision = *study.journal->experiment(1)->decision;
  EXPECT_EQ(decision.verdict, "abort");
  EXPECT_THAT(decision.reason, HasSubstr("run e001-s1 ended as aborted: at step 50"));
  EXPECT_FALSE(decision.delta_bits_per_byte);
  EXPECT_EQ(summarise(*study.journal).aborted, 1);
}

TEST(EarlyAbort, AnAuditedCandidateRunsOnAndTellsWhetherTheRuleWasRight) {
  Study study;
  Program program = one_idea(learning_rate(0.1));
  program.slots = 1;
  program.abort = {.progress = 0.4, .worse_by = 0.1, .audit_share = 1};
  HalfWay runner(study.folder.path(), valley);
  study.night(program, runner);
  const study::Decision decision = *study.journal->experiment(1)->decision;
  EXPECT_EQ(decision.verdict, "keep");
  EXPECT_THAT(*decision.audited_abort, HasSubstr("33.3 % above the 3.0000 of its pair"));
  const study::AbortAudit audit = study.journal->abort_audit();
  EXPECT_EQ(audit.audited, 1);
  EXPECT_EQ(audit.false_abort_rate(), 1.0);
}

}  // namespace
}  // namespace windtunnel::agent

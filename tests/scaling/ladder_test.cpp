#include "scaling/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/random.h"
#include "model/census.h"
#include "tests/support/scripted_runner.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::scaling {
namespace {

using base::Json;
using testing::HasSubstr;
using tests::ScriptedRunner;

study::RunConfig best_config() {
  return study::resolve_run_config(
      Json::parse(R"({"model": {"pattern": "*D*E", "width": 32, "context_tokens": 256,
                                "vocabulary_size": 512,
                                "layers": {"E": {"num_experts": 8, "num_active": 2}}},
                      "train": {"tokens_per_step": 2048, "optimizer": {"learning_rate": 0.03}}})"),
      "test");
}

LadderConfig small_ladder() {
  return base::from_json<LadderConfig>(
      Json::parse(R"({"rungs": [{"name": "w24", "patch": {"model.width": 24}},
                                {"name": "w32", "patch": {"model.width": 32}},
                                {"name": "w44", "patch": {"model.width": 44}},
                                {"name": "w56", "patch": {"model.width": 56}},
                                {"name": "w72", "patch": {"model.width": 72}},
                                {"name": "w96", "patch": {"model.width": 96}, "held_out": true}]})"),
      "ladder");
}

std::string refusal(const LadderConfig& ladder) {
  try {
    plan_ladder(best_config(), ladder);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LadderPlan, EveryRungHasItsTokensRateAndCost) {
  const LadderPlan plan =
      plan_ladder(best_config(), small_ladder(),
                  {.tokens_per_second = 1e5, .corpus_train_tokens = 1e7, .slots = 2});
  ASSERT_EQ(plan.rungs.size(), 6u);
  const PlannedRung& base_rung = plan.rungs[1];
  double sum = 0;
  for (const PlannedRung& rung : plan.rungs) {
    const auto active = static_cast<double>(rung.parameters_active);
    const auto tokens = static_cast<double>(rung.tokens);
    EXPECT_EQ(rung.tokens, rung.steps * 2048);
    EXPECT_NEAR(tokens, 20 * active, 2048);
    EXPECT_EQ(rung.flops_six_nd, 6 * active * tokens);
    EXPECT_NEAR(rung.learning_rate,
                0.03 * std::pow(active / static_cast<double>(base_rung.parameters_active), -0.8),
                1e-12);
    EXPECT_NEAR(*rung.epochs, tokens / 1e7, 1e-12);
    const auto config = base::from_json<study::RunConfig>(rung.config, "rung");
    EXPECT_EQ(study::planned_steps(config), rung.steps);
    EXPECT_EQ(config.train.budget.kind, "tokens_per_parameter");
    EXPECT_GT(rung.peak_memory_bytes, 0);
    sum += *rung.expected_seconds;
  }
  // The base's own rung runs at the speed that was measured.
  EXPECT_NEAR(*base_rung.expected_seconds, static_cast<double>(base_rung.tokens) / 1e5, 1e-9);
  EXPECT_GE(*plan.expected_seconds, sum / 2);
  EXPECT_LE(*plan.expected_seconds, sum);
  EXPECT_THAT(ladder_table(plan), HasSubstr("held out"));
  EXPECT_THAT(ladder_table(plan), HasSubstr("6 runs, 20 tokens per active parameter, about"));
}

TEST(LadderPlan, UnknownSpeedAndCorpusAreMissingNotZero) {
  const LadderPlan plan = plan_ladder(best_config(), small_ladder());
  EXPECT_FALSE(plan.rungs[0].epochs);
  EXPECT_FALSE(plan.rungs[0].expected_seconds);
  EXPECT_FALSE(plan.expected_seconds);
  EXPECT_TRUE(base::to_json(plan)["expected_seconds"].is_null());
}

TEST(LadderPlan, ARungMaySetItsOwnRate) {
  LadderConfig ladder = small_ladder();
  ladder.rungs[0].patch["train.optimizer.learning_rate"] = 0.07;
  EXPECT_EQ(plan_ladder(best_config(), ladder).rungs[0].learning_rate, 0.07);
}

TEST(LadderPlan, SurvivesItsJsonForm) {
  const Json json = base::to_json(plan_ladder(best_config(), small_ladder()));
  EXPECT_EQ(base::to_json(base::from_trusted_json<LadderPlan>(json)), json);
}

/// Sizes of a published ladder (layers, width, head, expert hidden; two dense layers first) with
/// the steps its authors state at 20 tokens per active parameter and 262,144 tokens a step. They
/// have small gates that this configuration lacks, hence the tolerance.
struct PublishedSize {
  const char* name;
  int layers, width, head, hidden;
  double steps;
};
constexpr PublishedSize kSizes[] = {
    {"S75", 7, 640, 64, 2176, 5800},    {"F1", 8, 768, 128, 1792, 6968},
    {"F2", 10, 1024, 128, 2304, 14099}, {"F3", 12, 1280, 128, 3072, 26827},
    {"F4", 14, 1536, 128, 3584, 43122}, {"F5", 16, 1792, 128, 4096, 65021}};

TEST(LadderPlan, StepsOfThePublishedLadderFollowFromItsSizes) {
  LadderConfig ladder;
  for (const PublishedSize& size : kSizes) {
    RungConfig rung{.name = size.name, .held_out = std::string(size.name) == "F5"};
    rung.patch = {{"model.pattern", "(*D)2(*E)" + std::to_string(size.layers - 2)},
                  {"model.width", size.width},
                  {"model.layers.*.head_size", size.head},
                  {"model.layers.D.hidden", 2 * size.hidden},
                  {"model.layers.E.hidden", size.hidden}};
    ladder.rungs.push_back(rung);
  }
  const study::RunConfig base = study::resolve_run_config(
      Json::parse(R"({"model": {"pattern": "(*D)2(*E)6", "width": 768, "context_tokens": 2048,
                                "vocabulary_size": 8192,
                                "layers": {"*": {"head_size": 128, "kv_heads": 2},
                                           "E": {"num_experts": 16, "num_active": 2}}},
                      "train": {"tokens_per_step": 262144}})"),
      "test");
  const LadderPlan plan = plan_ladder(base, ladder);
  for (size_t i = 0; i < plan.rungs.size(); ++i) {
    const PlannedRung& rung = plan.rungs[i];
    EXPECT_EQ(rung.name, kSizes[i].name);
    EXPECT_NEAR(static_cast<double>(rung.steps) / kSizes[i].steps, 1, 0.002) << rung.name;
    EXPECT_EQ(rung.steps, std::llround(20 * static_cast<double>(rung.parameters_active) / 262144));
  }
}

TEST(LadderPlan, FewerThanFiveFittedRungsOrNoneHeldOutAreRefusedTogether) {
  LadderConfig ladder = small_ladder();
  ladder.rungs.resize(4);
  const std::string text = refusal(ladder);
  EXPECT_THAT(text, HasSubstr("ladder.rungs = 4 fitted: must hold at least 5 rungs without "
                              "held_out"));
  EXPECT_THAT(text, HasSubstr("ladder.rungs = none held out: must hold one larger rung"));
}

TEST(LadderPlan, AHeldOutRungMustBeTheLargest) {
  LadderConfig ladder = small_ladder();
  ladder.rungs[5].patch["model.width"] = 64;
  EXPECT_THAT(refusal(ladder), HasSubstr("is held out and must be larger than every fitted rung"));
}

TEST(LadderPlan, NamesSizesAndOwnedPathsAreChecked) {
  LadderConfig ladder = small_ladder();
  ladder.rungs[1].name = "w24";
  ladder.rungs[2].name = "../w44";
  ladder.rungs[3].patch["train.budget.amount"] = 5;
  ladder.rungs[4].patch["train.seed"] = 5;
  const std::string text = refusal(ladder);
  EXPECT_THAT(text, HasSubstr("ladder.rungs.1.name = w24: is the name of an earlier rung"));
  EXPECT_THAT(text, HasSubstr("ladder.rungs.2.name = '../w44': must be letters"));
  EXPECT_THAT(text,
              HasSubstr("ladder.rungs.3.patch.train.budget.amount = 5: is set by the ladder"));
  EXPECT_THAT(text, HasSubstr("ladder.rungs.4.patch.train.seed = 5: is set by the ladder"));
  ladder = small_ladder();
  ladder.rungs[1].patch["model.width"] = 24;
  EXPECT_THAT(refusal(ladder), HasSubstr("has as many active parameters as rung w24"));
}

TEST(LadderPlan, AnUnknownPathOfAPatchIsRefusedWithTheRungNamed) {
  LadderConfig ladder = small_ladder();
  ladder.rungs[2].patch["model.widht"] = 44;
  EXPECT_THAT(refusal(ladder), HasSubstr("rung w44: model.widht"));
}

/// A study folder whose runs follow a law of C with noise that depends on the run alone.
class LadderRun : public testing::Test {
 protected:
  double held_out_factor = 1;
  std::string failing;
  int interrupt_after = -1;

  ScriptedRunner runner() { return runner_in(folder_.path()); }
  ScriptedRunner runner_in(const std::filesystem::path& study) {
    return ScriptedRunner(study, 2,
                          [this](const study::RunRequest& request, study::RunRecord& record) {
                            fill(request, record);
                          });
  }

  void fill(const study::RunRequest& request, study::RunRecord& record) {
    if (interrupt_after-- == 0) throw std::runtime_error("killed");
    if (request.id == failing) {
      record.train.outcome = study::outcome::kDiverged;
      return;
    }
    const auto census = model::census(request.config.model, 2048);
    record.parameters_active = census.parameters_active;
    record.parameters_total = census.parameters_total;
    record.train.tokens = study::planned_steps(request.config) * 2048;
    const double flops = 6 * static_cast<double>(census.parameters_active * *record.train.tokens);
    base::RandomStream noise(static_cast<uint64_t>(record.seed), request.id);
    double loss = (1.5 + 1200 * std::pow(flops, -0.26)) * std::exp(0.002 * noise.normal());
    if (request.config.model.width == 96) loss *= held_out_factor;
    record.evaluation.emplace().bits_per_byte = loss;
  }

  LadderPlan plan(int seeds = 1) {
    LadderConfig ladder = small_ladder();
    ladder.seeds = seeds;
    return plan_ladder(best_config(), ladder, {.slots = 2});
  }

  study::Journal journal() { return study::Journal(folder_ / "journal.db"); }
  std::filesystem::path study() { return folder_.path(); }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(LadderRun, RunsTheBiggestFirstAndScoresTheHeldOutRung) {
  study::Journal store = journal();
  ScriptedRunner fake = runner();
  int ticks = 0;
  const auto records =
      run_ladder(plan(), store, fake, study(), {}, [&](const study::Runner&) { ++ticks; });
  EXPECT_EQ(fake.started,
            (std::vector<std::string>{"ladder-w96-s1", "ladder-w72-s1", "ladder-w56-s1",
                                      "ladder-w44-s1", "ladder-w32-s1", "ladder-w24-s1"}));
  EXPECT_EQ(records.front().id, "ladder-w96-s1");
  EXPECT_EQ(records.front().purpose, "ladder");
  EXPECT_EQ(fake.most_in_flight, 2);
  EXPECT_GT(ticks, 0);
  const LawFit fit = fit_ladder(store);
  EXPECT_EQ(fit.rows.size(), 5u);
  ASSERT_EQ(fit.held_out.size(), 1u);
  EXPECT_EQ(fit.held_out[0].name, "ladder-w96-s1");
  EXPECT_LT(std::abs(fit.held_out[0].relative_error), 0.02);
  EXPECT_TRUE(fit.held_out[0].covered);
  EXPECT_EQ(*store.fact("fit"), base::to_json(fit));
}

TEST_F(LadderRun, TheHeldOutOutcomeDoesNotTouchTheForecast) {
  study::Journal store = journal();
  ScriptedRunner fake = runner();
  run_ladder(plan(), store, fake, study());
  const Json honest = *store.fact("ladder.forecast");

  const tests::TemporaryFolder other;
  study::Journal spoiled(other / "journal.db");
  held_out_factor = 2;
  ScriptedRunner again = runner_in(other.path());
  run_ladder(plan(), spoiled, again, other.path());
  EXPECT_EQ(*spoiled.fact("ladder.forecast"), honest);
  const LawFit fit = fit_ladder(spoiled);
  EXPECT_FALSE(fit.held_out.at(0).covered);
  EXPECT_GT(fit.held_out[0].relative_error, 0.5);
}

TEST_F(LadderRun, AKilledLadderContinuesAndEndsLikeAnUninterruptedOne) {
  const tests::TemporaryFolder other;
  study::Journal whole(other / "journal.db");
  ScriptedRunner uninterrupted = runner_in(other.path());
  run_ladder(plan(), whole, uninterrupted, other.path());
  const Json expected = base::to_json(fit_ladder(whole));

  // Killed as the n-th run of an attempt ends, before anything of it is kept.
  for (const int after : {0, 2, 1}) {
    study::Journal store = journal();
    ScriptedRunner fake = runner();
    interrupt_after = after;
    EXPECT_ANY_THROW(run_ladder(plan(), store, fake, study()));
  }
  interrupt_after = -1;
  study::Journal store = journal();
  ScriptedRunner fake = runner();
  run_ladder(plan(), store, fake, study());
  // Two runs had ended in the second attempt and one in the third.
  EXPECT_EQ(fake.started,
            (std::vector<std::string>{"ladder-w44-s1", "ladder-w32-s1", "ladder-w24-s1"}));
  EXPECT_EQ(base::to_json(fit_ladder(store)), expected);
}

TEST_F(LadderRun, AStoredForecastStaysWhenTheStudyIsResumedWithOtherOptions) {
  study::Journal store = journal();
  ScriptedRunner fake = runner();
  run_ladder(plan(), store, fake, study());
  const Json before = *store.fact("ladder.forecast");
  FitOptions other;
  other.law = "power_c";
  other.confidence = 0.5;
  ScriptedRunner nothing_left = runner();
  run_ladder(plan(), store, nothing_left, study(), other);
  EXPECT_TRUE(nothing_left.started.empty());
  EXPECT_EQ(*store.fact("ladder.forecast"), before);
  EXPECT_EQ(fit_ladder(store, other).law, "loss_c");
}

TEST_F(LadderRun, AStudyRefusesAnotherLadder) {
  study::Journal store = journal();
  ScriptedRunner fake = runner();
  run_ladder(plan(), store, fake, study());
  try {
    run_ladder(plan(2), store, fake, study());
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("this study holds the plan of another ladder"));
  }
}

TEST_F(LadderRun, SeveralSeedsAreSeveralRows) {
  study::Journal store = journal();
  ScriptedRunner fake = runner();
  run_ladder(plan(3), store, fake, study());
  const LawFit fit = fit_ladder(store);
  EXPECT_EQ(fit.rows.size(), 15u);
  EXPECT_EQ(fit.held_out.size(), 3u);
  EXPECT_EQ(fit.diagnostics.distinct_points, 5);
}

TEST_F(LadderRun, AFailedRungIsListedAndTheRestIsFitted) {
  failing = "ladder-w32-s1";
  study::Journal store = journal();
  ScriptedRunner fake = runner();
  run_ladder(plan(), store, fake, study());
  const LawFit fit = fit_ladder(store);
  EXPECT_EQ(fit.rows.size(), 4u);
  ASSERT_EQ(fit.left_out.size(), 1u);
  EXPECT_EQ(fit.left_out[0].name + " " + fit.left_out[0].reason, "ladder-w32-s1 diverged");
  EXPECT_THAT(fit_page(fit), HasSubstr("left out: ladder-w32-s1 (diverged)"));
}

TEST_F(LadderRun, AFailedHeldOutRungLeavesTheForecastUnscored) {
  failing = "ladder-w96-s1";
  study::Journal store = journal();
  ScriptedRunner fake = runner();
  run_ladder(plan(), store, fake, study());
  const LawFit fit = fit_ladder(store);
  EXPECT_TRUE(fit.held_out.empty());
  EXPECT_EQ(fit.forecasts.size(), 1u);
  EXPECT_EQ(fit.left_out.at(0).name, "ladder-w96-s1");
}

TEST_F(LadderRun, AJournalWithoutALadderSaysHowToRunOne) {
  study::Journal store = journal();
  try {
    fit_ladder(store);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(), "this study has no ladder; windtunnel ladder PROGRAM runs one");
  }
}

}  // namespace
}  // namespace windtunnel::scaling

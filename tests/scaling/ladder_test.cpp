#include "scaling/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
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
  const Speed speed{.flops_per_second = 1e5 * study::training_flops_per_token(best_config())};
  const LadderPlan plan = plan_ladder(best_config(), small_ladder(),
                                      {.speed = speed, .corpus_train_tokens = 1e7, .slots = 2});
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

TEST(LadderPlan, APlanSaysWhatItsTimesAndEpochsRestOn) {
  LadderSetting setting{.speed = assumed_speed(best_config(), small_ladder()),
                        .corpus_train_tokens = 1e6};
  std::string text = ladder_table(plan_ladder(best_config(), small_ladder(), setting));
  EXPECT_THAT(text, HasSubstr("FLOP/s of one run, assumed for 1 CPU thread"));
  EXPECT_THAT(text, HasSubstr("epochs: rung w96 reads its text "));
  EXPECT_THAT(text, HasSubstr("beyond 4 passes tokens are worth less than new ones"));
  setting.speed = Speed{.flops_per_second = 1e9, .is_measured = true, .source = "ladder-w24-s1"};
  setting.corpus_train_tokens = 1e9;
  text = ladder_table(plan_ladder(best_config(), small_ladder(), setting));
  EXPECT_THAT(text, HasSubstr("speed: 1e+09 FLOP/s of one run, measured on ladder-w24-s1"));
  EXPECT_THAT(text, HasSubstr("epochs: no run reads any of its text twice"));
  LadderConfig ladder = small_ladder();
  ladder.assumed_flops_per_second = 7;
  EXPECT_EQ(assumed_speed(best_config(), ladder).flops_per_second, 7);
}

TEST(LadderPlan, AScheduleThatCountsStepsEndsWithTheRung) {
  Json base = base::to_json(best_config());
  base::set_path(base, "train.schedule.kind", "step_cosine");
  base::set_path(base, "train.schedule.warmup_steps", 10);
  LadderConfig ladder = small_ladder();
  ladder.rungs[0].patch["train.schedule.estimated_steps"] = 77;
  const LadderPlan plan = plan_ladder(study::resolve_run_config(base, "test"), ladder);
  const auto estimated = [&](size_t i) {
    return plan.rungs[i].config["train"]["schedule"]["estimated_steps"].get<int64_t>();
  };
  EXPECT_EQ(estimated(0), 77);
  EXPECT_EQ(estimated(1), plan.rungs[1].steps);
  EXPECT_EQ(estimated(5), plan.rungs[5].steps);
}

TEST(LadderPlan, ARungMaySetItsOwnTokensRatioOrSteps) {
  LadderConfig ladder = small_ladder();
  ladder.rungs[0].tokens = 1e6;
  ladder.rungs[1].tokens_per_parameter = 30;
  ladder.rungs[2].steps = 1000;
  ladder.rungs.insert(ladder.rungs.begin(), {.name = "w20", .patch = {{"model.width", 20}}});
  const LadderPlan plan = plan_ladder(best_config(), ladder);
  EXPECT_EQ(plan.rungs[1].target_tokens, 1e6);
  EXPECT_EQ(plan.rungs[1].steps, 488);  // 1e6 / 2048 = 488.3
  EXPECT_NEAR(plan.rungs[2].target_tokens,
              30 * static_cast<double>(plan.rungs[2].parameters_active), 1e-6);
  EXPECT_EQ(plan.rungs[3].steps, 1000);
  EXPECT_EQ(plan.rungs[3].tokens, 2048000);
  EXPECT_EQ(plan.rungs[3].target_tokens, 20 * static_cast<double>(plan.rungs[3].parameters_active));
  EXPECT_EQ(plan.law, "loss_nd");
  ladder.rungs[1].tokens_per_parameter = 5;
  EXPECT_THAT(refusal(ladder), HasSubstr("ladder.rungs.1.tokens = 1e+06: contradicts its "
                                         "tokens_per_parameter; keep one"));
}

/// Sizes of an iso-FLOP design: three budgets, the largest held out.
LadderConfig iso_flop() {
  LadderConfig ladder = small_ladder();
  ladder.rungs.back().held_out = false;
  ladder.budgets = {{.flops = 1e11, .rungs = {"w24", "w32", "w44"}},
                    {.flops = 1e12},
                    {.flops = 1e13, .held_out = true, .rungs = {"w72", "w96"}}};
  return ladder;
}

TEST(LadderPlan, ABudgetOfFlopsIsSharedByItsSizes) {
  const LadderPlan plan = plan_ladder(best_config(), iso_flop());
  ASSERT_EQ(plan.rungs.size(), 3u + 6u + 2u);
  std::map<double, int> sizes;
  for (const PlannedRung& rung : plan.rungs) {
    const double budget = rung.name.ends_with("c1e11")   ? 1e11
                          : rung.name.ends_with("c1e12") ? 1e12
                                                         : 1e13;
    ++sizes[budget];
    const auto active = static_cast<double>(rung.parameters_active);
    EXPECT_NEAR(rung.target_tokens, budget / (6 * active), 1e-3) << rung.name;
    // To the nearest whole step.
    EXPECT_NEAR(rung.flops_six_nd, budget, 6 * active * 1024) << rung.name;
    EXPECT_EQ(rung.held_out, budget == 1e13);
  }
  EXPECT_EQ(sizes, (std::map<double, int>{{1e11, 3}, {1e12, 6}, {1e13, 2}}));
  EXPECT_EQ(plan.law, "loss_nd");
  EXPECT_THAT(ladder_table(plan), HasSubstr("11 runs, 3 compute budgets"));
}

TEST(LadderPlan, ADesignOfBudgetsIsCheckedAsOne) {
  LadderConfig ladder = iso_flop();
  ladder.budgets[0].rungs = {"w24", "w23"};
  ladder.budgets[1].flops = 1e13;
  ladder.rungs[1].tokens_per_parameter = 4;
  ladder.ratios = {};
  const std::string text = refusal(ladder);
  EXPECT_THAT(text, HasSubstr("ladder.budgets.0.rungs = w23: is no rung of this ladder; w24 is"));
  EXPECT_THAT(text, HasSubstr("ladder.budgets.0 = 2 sizes: must have at least 3; fewer show no "
                              "minimum at this budget"));
  EXPECT_THAT(text, HasSubstr("ladder.budgets.2.flops = 1e+13: is an earlier budget; keep one"));
  EXPECT_THAT(text, HasSubstr("is held out and must be larger than every fitted budget, which end "
                              "at 1e+13"));
  EXPECT_THAT(text, HasSubstr("ladder.rungs.1 = w32: sets held_out or its own tokens, but "
                              "ladder.budgets decides both"));
  ladder = iso_flop();
  ladder.budgets = {{.flops = 1e11}};
  EXPECT_THAT(refusal(ladder), HasSubstr("ladder.budgets = 1 fitted: must hold at least 2"));
  EXPECT_THAT(refusal(ladder), HasSubstr("ladder.budgets = none held out"));
  ladder.ratios = {10, 40};
  EXPECT_THAT(refusal(ladder), HasSubstr("and ladder.ratios are two designs; keep one"));
}

TEST(LadderPlan, EveryRungIsTrainedAtEveryRatioButAHeldOutOneMayHaveItsOwn) {
  LadderConfig ladder = small_ladder();
  ladder.rungs.erase(ladder.rungs.begin() + 3, ladder.rungs.begin() + 5);
  ladder.ratios = {10, 40};
  ladder.rungs.back().tokens_per_parameter = 40;
  const LadderPlan plan = plan_ladder(best_config(), ladder);
  std::vector<std::string> names;
  for (const PlannedRung& rung : plan.rungs) names.push_back(rung.name);
  EXPECT_EQ(names, (std::vector<std::string>{"w24-10x", "w24-40x", "w32-10x", "w32-40x", "w44-10x",
                                             "w44-40x", "w96"}));
  EXPECT_EQ(plan.law, "loss_nd");
  EXPECT_EQ(plan.rungs[1].target_tokens, 4 * plan.rungs[0].target_tokens);

  ladder.rungs.back().tokens_per_parameter = 1;
  EXPECT_THAT(refusal(ladder), HasSubstr("is held out and must cost more than every fitted rung"));
  ladder.ratios = {10, 10};
  EXPECT_THAT(refusal(ladder), HasSubstr("ladder.ratios = 10: is there twice; keep one"));
  ladder.rungs[0].steps = 5;
  EXPECT_THAT(refusal(ladder), HasSubstr("ladder.rungs.0 = w24: sets its own tokens, but is "
                                         "trained at every one of ladder.ratios"));
}

LadderConfig paired_ladder() {
  LadderConfig ladder = small_ladder();
  ladder.curve = "full";
  ladder.variants = {
      {.name = "no_stem", .patch = {{"model.pattern", "*E*E"}}, .rungs = {"w24", "w44"}}};
  return ladder;
}

TEST(LadderPlan, AVariantTrainsOnTheTokensOfTheRungItIsPairedWith) {
  const LadderPlan plan = plan_ladder(best_config(), paired_ladder());
  ASSERT_EQ(plan.rungs.size(), 8u);
  const PlannedRung& variant = plan.rungs[7];
  EXPECT_EQ(variant.name, "w44-no_stem");
  EXPECT_EQ(variant.curve, "no_stem");
  EXPECT_EQ(variant.base_rung, "w44");
  EXPECT_NE(variant.parameters_active, plan.rungs[2].parameters_active);
  EXPECT_EQ(variant.tokens, plan.rungs[2].tokens);
  EXPECT_EQ(variant.steps, plan.rungs[2].steps);
  EXPECT_EQ(variant.config["model"]["pattern"], "*E*E");
  EXPECT_EQ(plan.rungs[2].curve, "full");
  EXPECT_EQ(plan.law, "loss_c");
}

TEST(LadderPlan, AVariantThatChangesNothingIsNotTrainedAndSaysSo) {
  LadderConfig ladder = paired_ladder();
  const Json pattern = best_config().model.pattern;
  ladder.variants.push_back(
      {.name = "same", .patch = {{"model.pattern", pattern}}, .rungs = {"w24", "w44"}});
  const LadderPlan plan = plan_ladder(best_config(), ladder);
  EXPECT_EQ(plan.rungs.size(), 8u);
  ASSERT_EQ(plan.left_out.size(), 2u);
  EXPECT_EQ(plan.left_out[0].name, "w24-same");
  EXPECT_THAT(ladder_table(plan), HasSubstr("left out: w24-same, w44-same (the variant's patch "
                                            "changes nothing there)"));
}

TEST(LadderPlan, VariantsAreCheckedByNameRungAndPatch) {
  LadderConfig ladder = paired_ladder();
  ladder.variants[0].rungs = {"w23"};
  ladder.variants[0].patch["data.corpus"] = "/elsewhere";
  ladder.variants.push_back({.name = "full"});
  std::string text = refusal(ladder);
  EXPECT_THAT(text, HasSubstr("ladder.variants.0.rungs = w23: is no rung of this ladder"));
  EXPECT_THAT(text, HasSubstr("ladder.variants.0.patch.data.corpus = \"/elsewhere\": is set by "
                              "the ladder and equal for all rungs"));
  EXPECT_THAT(text, HasSubstr("ladder.variants.1.name = full: is the name of an earlier curve"));
  ladder = paired_ladder();
  ladder.variants[0].patch = {{"model.patern", "*E*E"}};
  EXPECT_THAT(refusal(ladder), HasSubstr("rung w24-no_stem: model.patern"));
  ladder = paired_ladder();
  ladder.rungs.push_back({.name = "w24-no_stem", .patch = {{"model.width", 28}}});
  EXPECT_THAT(refusal(ladder), HasSubstr("ladder.rungs = w24-no_stem: would name runs of rung"));
}

TEST(LadderPlan, AGridNeedsAMiddle) {
  LadderConfig ladder = small_ladder();
  ladder.learning_rates.points = 4;
  EXPECT_THAT(refusal(ladder), HasSubstr("ladder.learning_rates.points = 4: must be odd"));
}

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

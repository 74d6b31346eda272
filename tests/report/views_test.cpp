// What the report computes from a study: bests, the ladder, phases, sentences.

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "report/bests.h"
#include "report/comparison_figures.h"
#include "report/figures/gnuplot.h"
#include "report/interpretation.h"
#include "report/ladder_view.h"
#include "report/phases.h"
#include "report/summary.h"
#include "report/tables.h"
#include "tests/report/sample_study.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::report {
namespace {

using ::testing::HasSubstr;

/// Two experiments on a baseline of 3.0; enough to compute by hand.
StudyData small_study() {
  StudyData data;
  data.name = "small";
  data.baseline.mean_bits_per_byte = data.baseline.level = 3.0;
  const auto add = [&](int64_t number, int64_t parent, const char* verdict, double delta,
                       double level, double predicted) {
    ExperimentView view;
    view.experiment.number = number;
    view.experiment.parent = parent;
    view.experiment.proposal.proposer = "queue";
    view.experiment.proposal.prediction = {.delta_bits_per_byte = predicted,
                                           .interval_low = predicted - 0.05,
                                           .interval_high = predicted + 0.05,
                                           .probability_kept = 0.5};
    view.experiment.decision = study::Decision{.verdict = verdict,
                                               .delta_bits_per_byte = delta,
                                               .interval_low = delta - 0.1,
                                               .interval_high = delta + 0.1,
                                               .pairs = 2,
                                               .prediction_covered = true};
    view.level = level;
    data.experiments.push_back(view);
  };
  add(1, 0, "keep", -0.3, 2.7, -0.28);
  add(2, 1, "discard", 0.02, 2.72, -0.02);
  return data;
}

/// The complete sample, written once.
const StudyData& sample() {
  static const StudyData data = [] {
    const tests::TemporaryFolder folder;
    write_sample_study(folder.path() / "study");
    return read_study(folder.path() / "study");
  }();
  return data;
}

TEST(Bests, GainsAreRelativeToTheBestBeforeAndToTheBaseline) {
  StudyData data = small_study();
  data.experiments[1].experiment.decision->verdict = "keep";
  data.experiments[1].level = 2.43;
  const auto steps = bests(data);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_FALSE(steps[0].step_gain);
  EXPECT_NEAR(*steps[1].step_gain, 0.1, 1e-12);
  EXPECT_NEAR(*steps[2].step_gain, 0.1, 1e-12);
  EXPECT_NEAR(*steps[2].cumulative_gain, 0.19, 1e-12);
}

TEST(Bests, ThereAreNoneBeforeTheBaseline) { EXPECT_TRUE(bests(StudyData{}).empty()); }

TEST(Interpretation, NoiseThatCanExplainADifferenceIsSaidWithThePairsItWouldTake) {
  const StudyData data = small_study();
  EXPECT_THAT(interpretation_text(data.experiments[0]), HasSubstr("Better by more than noise"));
  // (0.1 / 0.02)^2 x 2 pairs
  EXPECT_THAT(interpretation_text(data.experiments[1]), HasSubstr("about 50 pairs"));
  EXPECT_THAT(agreement_text(data.experiments[1]), HasSubstr("opposite sign"));
}

TEST(StudyDataOfASample, LevelsFollowPairedDifferencesThroughTheParents) {
  const StudyData& data = sample();
  ASSERT_EQ(data.experiments.size(), 11u);
  const ExperimentView& first = data.experiments[0];
  const ExperimentView& fifth = data.experiments[4];
  EXPECT_EQ(fifth.experiment.parent, 1);
  EXPECT_NEAR(*first.level, *data.baseline.level + *first.experiment.decision->delta_bits_per_byte,
              1e-12);
  EXPECT_NEAR(*fifth.level, *first.level + *fifth.experiment.decision->delta_bits_per_byte, 1e-12);
  EXPECT_EQ(data.incumbent(), 9);
  EXPECT_FALSE(data.experiments[5].level);
  EXPECT_EQ(patch_lines(first, data).front(), "train.optimizer.learning_rate: 0.03 -> 0.06");
}

TEST(StudyDataOfASample, AHalfWrittenCurveLineIsLeftOut) {
  const tests::TemporaryFolder folder;
  write_sample_study(folder.path() / "study", {.experiments = 2, .is_half_way = true});
  const auto file = folder.path() / "study/runs/baseline-s1/curve.jsonl";
  const size_t before = read_study(folder.path() / "study").curves.at("baseline-s1").size();
  std::ofstream(file, std::ios::app) << "{\"step\": 61";
  EXPECT_EQ(read_study(folder.path() / "study").curves.at("baseline-s1").size(), before);
}

TEST(Ladder, RungsForecastAndOutcome) {
  const LadderView ladder = ladder_view(sample());
  ASSERT_EQ(ladder.rungs.size(), 6u);
  EXPECT_EQ(ladder.rungs.front().state, "completed");
  EXPECT_TRUE(ladder.rungs.back().is_held_out);
  ASSERT_EQ(ladder.held_out.size(), 1u);
  EXPECT_EQ(ladder.held_out[0].name, "w96");
  EXPECT_TRUE(*ladder.held_out[0].covered);
  EXPECT_EQ(ladder.alternatives.size(), 2u);
  ASSERT_EQ(ladder.law->parameters.size(), 3u);
  EXPECT_FALSE(ladder.law->parameters[0].high);  // A is not bounded
}

TEST(Ladder, TheForecastStandsBeforeTheHeldOutSizeHasRun) {
  const tests::TemporaryFolder folder;
  write_sample_study(folder.path() / "study", {.is_half_way = true});
  const LadderView ladder = ladder_view(read_study(folder.path() / "study"));
  ASSERT_EQ(ladder.held_out.size(), 1u);
  EXPECT_TRUE(ladder.held_out[0].predicted);
  EXPECT_FALSE(ladder.held_out[0].measured);
  EXPECT_EQ(ladder.rungs.back().state, "planned");
}

TEST(Ladder, VerdictsOnGainsStandWithTheirRuleAndOpenEnds) {
  StudyData data;
  data.facts["ladder.gains"] = {
      {{"baseline", "full"},
       {"changed", "no_stem"},
       {"verdict", "needs retuning"},
       {"reasons", {"the rate of the baseline was not tuned at w24"}},
       {"rule", "a rule"},
       {"sizes",
        {{{"compute_gain", {{"factor", 1.25}, {"interval", {{"low", 0.9}, {"high", nullptr}}}}}}}},
       {"trend",
        {{"slope", -0.001},
         {"slope_interval", {{"low", -0.004}, {"high", 0.002}}},
         {"at_largest", 0.0123},
         {"at_largest_interval", {{"low", nullptr}, {"high", nullptr}}}}}}};
  const std::string html = gains_table(ladder_view(data));
  for (const char* words :
       {"no_stem", "needs retuning", "+1.23 [open, open]", "-0.10 [-0.40, +0.20]",
        "1.25 [0.9, open]", "the rate of the baseline was not tuned at w24", "a rule"}) {
    EXPECT_THAT(html, testing::HasSubstr(words));
  }
  EXPECT_EQ(gains_table(ladder_view(StudyData{})), "");
}

TEST(Ladder, GainsAreDrawnWithTheirVerdictsAndTheSizesBehindThem) {
  const tests::TemporaryFolder folder;
  write_sample_study(folder.path() / "study", {});
  const StudyData data = read_study(folder.path() / "study");
  const auto& kind = FigureRegistry::instance().get("gains", "figure").entry;
  const auto figure = kind.draw(data, wide_layout());
  ASSERT_TRUE(figure);
  for (const char* words :
       {"stem against full: scaling. w24: ", "wide_ffn against full: diminishing"}) {
    EXPECT_THAT(figure->alternative_text, testing::HasSubstr(words));
  }
  EXPECT_FALSE(kind.draw(StudyData{}, wide_layout()));
}

TEST(ComparisonFigures, ASweepWithoutAMinimumShowsItsRunsAlone) {
  const auto rows = [](double curvature) {
    std::vector<scaling::SweepRow> rows;
    for (const double value : {2.0, 4.0, 8.0, 16.0, 32.0}) {
      const double off = std::log(value / 8);
      rows.push_back({.name = "r", .value = value, .loss = 2 * std::exp(curvature * off * off)});
    }
    return rows;
  };
  const auto with = sweep_figure(scaling::fit_sweep("experts", rows(0.01), 0.95, 0.001));
  EXPECT_THAT(with->commands, testing::HasSubstr("$minimum"));
  EXPECT_THAT(with->alternative_text, testing::HasSubstr("5 runs over experts: interior"));
  const auto without = sweep_figure(scaling::fit_sweep("experts", rows(-0.01), 0.95, 0.001));
  EXPECT_THAT(without->commands, testing::Not(testing::HasSubstr("$minimum")));
}

TEST(Ladder, PlannedRungsAreScoredOnceTheyHaveRun) {
  StudyData data = sample();
  const LadderView before = ladder_view(data);
  const RungView& run = before.rungs.front();
  data.facts["plan.forecasts"] = {
      {{"rung", run.name},
       {"predicted", *run.bits_per_byte * 1.01},
       {"interval", {{"low", *run.bits_per_byte * 1.005}, {"high", nullptr}}}},
      {{"rung", "w200"}, {"predicted", 1.7}, {"interval", {}}}};
  const LadderView ladder = ladder_view(data);
  ASSERT_EQ(ladder.planned.size(), 2u);
  EXPECT_NEAR(*ladder.planned[0].relative_error, 1 / 1.01 - 1, 1e-12);
  EXPECT_FALSE(*ladder.planned[0].covered);
  EXPECT_FALSE(ladder.planned[1].measured);
  EXPECT_THAT(planned_table(ladder), testing::HasSubstr("not measured yet"));
}

TEST(Ladder, FactsOfAnotherShapeLeaveGapsNotErrors) {
  StudyData data;
  data.facts["ladder.plan"] = {{"rungs", {{{"name", "w24"}}, 7, nullptr}}};
  data.facts["fit"] = {{"parameters", {{"E", nullptr}}}, {"band", "none"}, {"forecasts", {{}, {}}}};
  const LadderView ladder = ladder_view(data);
  ASSERT_EQ(ladder.rungs.size(), 1u);
  EXPECT_FALSE(ladder.rungs[0].flops);
  EXPECT_FALSE(ladder.law->parameters[0].value);
  data.facts["fit"] = "text";
  data.facts["ladder.plan"] = 3;
  EXPECT_TRUE(ladder_view(data).rungs.empty());
}

TEST(Phases, SecondsAddUpToTheWallClock) {
  for (const PhaseTotals& totals : phase_totals(sample())) {
    double sum = 0;
    for (const auto& seconds : totals.seconds) sum += seconds.value_or(0);
    EXPECT_NEAR(sum, totals.wall_seconds, 1e-6) << totals.purpose;
  }
}

TEST(Summary, SaysBestNoiseForecastsLawAndHeldOut) {
  const StudyData& data = sample();
  const std::string text = ::testing::PrintToString(summary_sentences(data));
  EXPECT_THAT(text, HasSubstr("experiment 9"));
  EXPECT_THAT(text,
              HasSubstr("11 experiments: 3 kept, 5 discarded, 1 to repair, 1 failed, 1 vetoed"));
  EXPECT_THAT(text, HasSubstr("do not identify E"));
  EXPECT_THAT(text, HasSubstr("the interval held it"));
}

}  // namespace
}  // namespace windtunnel::report

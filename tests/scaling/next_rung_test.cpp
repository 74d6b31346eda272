// The rung a plan asks for, added to the ladder of a study, forecast before and scored after.

#include "scaling/next_rung.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling/ladder_state.h"
#include "tests/scaling/tuned_ladder.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::scaling {
namespace {

using testing::HasSubstr;

LadderConfig plain_ladder() {
  LadderConfig ladder = tuned_ladder();
  ladder.learning_rates.tune = "none";
  ladder.learning_rate_exponent = -0.5;
  return ladder;
}

class NextRungOfAStudy : public testing::Test {
 protected:
  study::Journal journal() const { return study::Journal(folder_ / "journal.db"); }

  LawFit run(const LadderConfig& ladder) {
    study::Journal store = journal();
    tests::ScriptedRunner runner(folder_.path(), 2, end_run);
    run_ladder(plan_ladder(tuned_base(), ladder, {.slots = 2}), store, runner, folder_.path());
    started_ = runner.started;
    return fit_ladder(store);
  }

  NextLadder next(const LawFit& fit) const {
    const auto plan = base::from_trusted_json<LadderPlan>(*journal().fact("ladder.plan"));
    const ComputePlan wanted = plan_compute(fit, 1e16);
    const auto found = next_ladder(plan, wanted.next_rungs);
    if (!found) throw std::logic_error("no rung fits");
    return *found;
  }

  tests::TemporaryFolder folder_;
  std::vector<std::string> started_;
};

TEST_F(NextRungOfAStudy, IsALadderThatPlansAsItStands) {
  const NextLadder ladder = next(run(plain_ladder()));
  EXPECT_EQ(ladder.ladder.rungs.size(), plain_ladder().rungs.size() + 1);
  const LadderPlan plan = plan_ladder(tuned_base(), ladder.ladder);
  EXPECT_EQ(plan.law, "loss_c");
  const auto is_new = [&](const PlannedRung& rung) { return rung.name == ladder.rung.name; };
  ASSERT_EQ(std::count_if(plan.rungs.begin(), plan.rungs.end(), is_new), 1);
  // Variants without a list of sizes would be trained at the new one, too.
  EXPECT_EQ(ladder.ladder.variants[0].rungs, plain_ladder().variants[0].rungs);
}

TEST_F(NextRungOfAStudy, IsForecastBeforeAndScoredAfterInTheSameJournal) {
  const LawFit fit = run(plain_ladder());
  const NextLadder ladder = next(fit);
  const RungForecast forecast = forecast_rung(fit, ladder.rung);
  {
    study::Journal store = journal();
    store_rung_forecast(store, forecast);
    ASSERT_EQ(rung_forecasts(store).size(), 1u);
    EXPECT_FALSE(rung_forecasts(store)[0].measured);
    EXPECT_THAT(rung_forecasts_text(rung_forecasts(store)), HasSubstr("not trained yet"));
    RungForecast other = forecast;
    other.predicted = 1;
    store_rung_forecast(store, other);
    EXPECT_EQ(rung_forecasts(store)[0].predicted, forecast.predicted) << "the first one stays";
  }
  const base::Json before = *journal().fact("ladder.forecast");
  run(ladder.ladder);
  EXPECT_EQ(started_.size(), 1u) << "only the added rung is trained";
  study::Journal store = journal();
  const std::vector<RungForecast> scored = rung_forecasts(store);
  ASSERT_EQ(scored.size(), 1u);
  const double measured = *store.run("ladder-" + ladder.rung.name + "-s1")->record->bits_per_byte();
  EXPECT_EQ(scored[0].measured, measured);
  EXPECT_NEAR(*scored[0].relative_error, measured / forecast.predicted - 1, 1e-12);
  EXPECT_EQ(scored[0].covered, forecast.interval.holds(measured));
  EXPECT_TRUE(*scored[0].covered);
  EXPECT_EQ(store.fact("ladder.forecasts.earlier")->at(0), before);
}

TEST_F(NextRungOfAStudy, AnotherLadderIsStillRefused) {
  run(plain_ladder());
  LadderConfig other = plain_ladder();
  other.rungs.erase(other.rungs.begin());
  other.rungs.insert(other.rungs.begin(), {.name = "w28", .patch = {{"model.width", 28}}});
  study::Journal store = journal();
  EXPECT_THROW(store_plan(plan_ladder(tuned_base(), other, {.slots = 2}), store), base::Error);
}

TEST(LadderYaml, LeavesDefaultsOutAndKeepsWhatIsSet) {
  LadderConfig ladder = plain_ladder();
  ladder.rungs[5].tokens_per_parameter = 40;
  const std::string text = ladder_yaml(ladder);
  EXPECT_THAT(text, HasSubstr("ladder:\n"));
  EXPECT_THAT(text, HasSubstr("  learning_rate_exponent: -0.5\n"));
  EXPECT_THAT(text,
              HasSubstr("    - {\"held_out\":true,\"name\":\"w96\",\"patch\":{\"model.width\":"
                        "96},\"tokens_per_parameter\":40.0}\n"));
  EXPECT_EQ(text.find("budgets"), std::string::npos);
}

TEST(PlanOfALawOfCompute, FollowsTheRatioOfItsRows) {
  std::vector<Observation> rows;
  for (int i = 0; i < 6; ++i) {
    const double n = 1e6 * std::pow(2, i);
    Observation row;
    row.name = "n" + std::to_string(i);
    row.parameters_active = n;
    row.tokens = 20 * n;
    row.flops = 120 * n * n;
    row.flops_convention = convention::kSixND;
    row.loss = 1.5 + 600 * std::pow(*row.flops, -0.2) * (1 + 0.001 * (i % 2));
    rows.push_back(row);
  }
  const ComputePlan plan = plan_compute(fit_law(rows, {}), 1e18);
  EXPECT_NEAR(plan.tokens_per_parameter, 20, 1e-9);
  EXPECT_NEAR(6 * plan.parameters * plan.tokens / 1e18, 1, 1e-9);
  EXPECT_TRUE(plan.loss_interval.holds(plan.loss));
  EXPECT_THAT(plan.warnings, testing::Contains(HasSubstr("knows no best size")));
  for (const NextRung& rung : plan.next_rungs) {
    EXPECT_NEAR(rung.tokens_per_parameter, 20, 1e-9);
    EXPECT_TRUE(rung.interval.holds(rung.predicted));
  }
}

}  // namespace
}  // namespace windtunnel::scaling

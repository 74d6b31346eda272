#include "scaling/law_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"
#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

using testing::HasSubstr;
using tests::row;

/// A published ladder of five sizes: bits per byte at C = 6ND, the last one held out.
struct PublishedRow {
  const char* name;
  double parameters, tokens, loss;
};
constexpr PublishedRow kPublished[] = {{"S75", 75.95e6, 1.519e9, 0.902337},
                                       {"F1", 91.3e6, 1.827e9, 0.892152},
                                       {"F2", 184.8e6, 3.696e9, 0.821625},
                                       {"F3", 351.6e6, 7.033e9, 0.765974},
                                       {"F4", 565.2e6, 11.304e9, 0.736565}};

std::vector<Observation> published() {
  std::vector<Observation> rows;
  for (const PublishedRow& item : kPublished) {
    rows.push_back(row(item.name, 6 * item.parameters * item.tokens, item.loss));
  }
  return rows;
}

LawFit published_fit(const std::string& law, const std::string& on = "log") {
  std::vector<Observation> rows = published();
  const Observation held_out = rows.back();
  rows.pop_back();
  FitOptions options;
  options.law = law;
  options.on = on;
  LawFit fit = fit_law(rows, options, {{"F4", point_of(held_out)}});
  score_forecasts(fit, {held_out}, {{"F4", "F4"}});
  return fit;
}

TEST(LawFit, PublishedLadderGivesTheStatedPowerLawAndHeldOutError) {
  for (const char* law : {"power_c", "loss_c"}) {
    // The authors fitted L itself; on ln L the last digit differs.
    const LawFit fit = published_fit(law, "linear");
    const double alpha = fit.parameters.at("alpha");
    EXPECT_NEAR(alpha, 0.055, 0.0005) << law;
    EXPECT_NEAR(fit.parameters.at("A") * std::pow(1e18, -alpha), 0.888, 0.0005) << law;
    ASSERT_EQ(fit.held_out.size(), 1u);
    EXPECT_NEAR(fit.held_out[0].predicted, 0.728, 0.0005) << law;
    EXPECT_NEAR(fit.held_out[0].relative_error, 0.012, 0.0005) << law;
    EXPECT_NEAR(published_fit(law).held_out[0].predicted, 0.728, 0.001) << law;
  }
}

TEST(LawFit, PublishedLadderDoesNotIdentifyTheOffsetAndSaysSo) {
  const LawFit fit = published_fit("loss_c");
  EXPECT_EQ(fit.verdict.overall, identified::kRefused);
  EXPECT_EQ(fit.verdict.parameters.at("E").verdict, identified::kRefused);
  EXPECT_EQ(fit.verdict.parameters.at("alpha").verdict, identified::kWeak);
  EXPECT_EQ(fit.parameters.at("E"), 0);
  EXPECT_EQ(fit.intervals.profile.at("E").low, 0.0);
  EXPECT_THAT(fit_page(fit), HasSubstr("E is not identified: the fit puts it at 0; its 95 % "
                                       "interval reaches 0: the law without it fits no worse; 4 "
                                       "values of C, 8 are needed"));
}

TEST(LawFit, AnUnidentifiedOffsetGivesForecastsWithoutItAndWithItPinned) {
  const LawFit fit = published_fit("loss_c");
  const auto& alternatives = fit.forecasts.at(0).alternatives;
  ASSERT_EQ(alternatives.size(), 5u);
  EXPECT_EQ(alternatives[0].assumption, "no E");
  EXPECT_NEAR(alternatives[0].predicted, 0.728, 0.001);
  for (size_t i = 1; i < alternatives.size(); ++i) {
    // A higher floor always forecasts a higher loss further out.
    EXPECT_GT(alternatives[i].parameters.at("E"), alternatives[i - 1].parameters.at("E"));
    EXPECT_GT(alternatives[i].predicted, alternatives[i - 1].predicted);
  }
}

TEST(LawFit, SmallLadderOfTheDesignStudyIsForecastWithinTwoPercent) {
  // Several seeds a size; see golden/loss_c.py for the sizes.
  const std::vector<std::pair<double, std::vector<double>>> ladder = {
      {1.68e11, {3.088, 3.067, 3.032}},
      {3.57e11, {2.808, 2.811, 2.805, 2.810}},
      {9.00e11, {2.562, 2.522, 2.550}},
      {1.88e12, {2.352, 2.351}},
      {4.26e12, {2.218}}};
  std::vector<Observation> rows;
  for (const auto& [flops, losses] : ladder) {
    for (size_t s = 0; s < losses.size(); ++s) {
      rows.push_back(row(std::to_string(flops) + "-" + std::to_string(s), flops, losses[s]));
      rows.back().seed = static_cast<int64_t>(s);
    }
  }
  LawFit fit = fit_law(rows, {}, {{"w96", {.flops = 1.09e13}}});
  score_forecasts(fit, {row("w96-s1", 1.09e13, 2.043)}, {{"w96-s1", "w96"}});
  EXPECT_LT(std::abs(fit.held_out[0].relative_error), 0.02);
  EXPECT_TRUE(fit.held_out[0].covered);
  EXPECT_NE(fit.verdict.parameters.at("E").verdict, identified::kIdentified);
  EXPECT_NEAR(fit.forecasts[0].extrapolation_ratio, 1.09e13 / 4.26e12, 1e-9);
}

TEST(LawFit, ManyBudgetsOverManyDecadesIdentifyTheOffset) {
  const tests::Truth truth{1.6, 1500, 0.27};
  const LawFit fit = fit_law(tests::rows_of(truth, 12, 1e11, 1e15, 0.001), {});
  EXPECT_EQ(fit.verdict.overall, identified::kIdentified);
  EXPECT_TRUE(fit.intervals.profile.at("E").holds(truth.E));
  EXPECT_NEAR(fit.parameters.at("E"), truth.E, 0.02);
}

TEST(LawFit, FewBudgetsMakeAnOffsetWeakEvenWhenTheyAreQuiet) {
  const tests::Truth truth{1.6, 1500, 0.27};
  const LawFit fit = fit_law(tests::rows_of(truth, 6, 1e11, 5e12, 1e-5), {});
  EXPECT_GT(*fit.intervals.profile.at("E").low, 1);
  EXPECT_EQ(fit.verdict.parameters.at("E").verdict, identified::kWeak);
  EXPECT_THAT(fit.verdict.parameters.at("E").reasons,
              testing::Contains(HasSubstr("1.7 decades of C, 2 are needed")));
}

TEST(LawFit, ExactDataHaveIntervalsOfNoWidth) {
  const tests::Truth truth{1.6, 1500, 0.27};
  const LawFit fit = fit_law(tests::rows_of(truth, 9, 1e11, 1e15), {}, {{"next", {.flops = 1e16}}});
  EXPECT_NEAR(*fit.intervals.profile.at("alpha").low, truth.alpha, 1e-6);
  EXPECT_NEAR(*fit.forecasts[0].interval.high, truth(1e16), 1e-6);
}

TEST(LawFit, BandRunsFromTheSmallestRowToTheFurthestForecast) {
  const LawFit fit = published_fit("loss_c");
  EXPECT_NEAR(fit.band.front().flops / *fit.rows.front().flops, 1, 1e-9);
  EXPECT_NEAR(fit.band.back().flops / *fit.forecasts[0].flops, 1, 1e-9);
  for (const BandPoint& point : fit.band) EXPECT_TRUE(point.mean.holds(point.predicted));
}

TEST(LawFit, SurvivesItsJsonForm) {
  FitOptions options;
  options.bootstrap = 20;
  options.objective = "huber";
  options.huber_delta = 0.01;
  const LawFit fit = fit_law(published(), options);
  const base::Json json = base::to_json(fit);
  EXPECT_EQ(base::to_json(base::from_trusted_json<LawFit>(json)), json);
  EXPECT_TRUE(base::schema_problems(json, base::schema_of<LawFit>()).empty());
}

TEST(LawFit, RefusesAHeldOutPointInsideTheFittedRange) {
  try {
    fit_law(published(), {}, {{"F2b", {.flops = 5e18}}});
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(),
                 "held-out F2b lies inside the fitted range by C = 5e+18 (fitted up to 3.833e+19); "
                 "hold out the largest");
  }
}

TEST(LawFit, ALargerSizeOnFewerTokensIsOutsideOfALawOfBoth) {
  std::vector<Observation> rows;
  for (const double n : {1e7, 3e7, 1e8, 3e8}) {
    for (const double d : {1e9, 3e9, 1e10}) {
      const double loss = 1.7 + 400 * std::pow(n, -0.34) + 1500 * std::pow(d, -0.36);
      rows.push_back(tests::row("r" + std::to_string(rows.size()), 6 * n * d, loss));
      rows.back().parameters_active = n;
      rows.back().tokens = d;
    }
  }
  const Point larger{6e8, 1e9, 6 * 6e8 * 1e9, 1e9};
  const LawFit fit = fit_law(rows, {.law = "loss_nd"}, {{"larger", larger}});
  EXPECT_NEAR(fit.forecasts[0].extrapolation_ratio, 2, 1e-9);
  EXPECT_NEAR(fit.forecasts[0].predicted,
              1.7 + 400 * std::pow(6e8, -0.34) + 1500 * std::pow(1e9, -0.36), 1e-5);
}

TEST(LawFit, LossesOfAnySizeHaveTheSameIntervalsInTheirUnit) {
  const auto width = [](double unit) {
    std::vector<Observation> rows = tests::rows_of({1.6, 1500, 0.2}, 14, 1e15, 1e20, 0.003);
    for (Observation& row : rows) row.loss *= unit;
    const LawFit fit = fit_law(rows, {.law = "loss_c", .on = "linear"});
    const Interval& offset = fit.intervals.profile.at("E");
    return (*offset.high - *offset.low) / unit;
  };
  const double one = width(1);
  EXPECT_GT(one, 0);
  EXPECT_NEAR(width(1e-7) / one, 1, 1e-3);
  EXPECT_NEAR(width(1e5) / one, 1, 1e-3);
}

TEST(LawFit, RefusesOptionsOutsideTheirRange) {
  FitOptions options;
  options.confidence = 1;
  EXPECT_THROW(fit_law(published(), options), base::ConfigError);
}

TEST(LawFit, RefusesToScoreAForecastForAnotherBudget) {
  LawFit fit = published_fit("loss_c");
  try {
    score_forecasts(fit, {row("F4", 3e19, 0.74)}, {{"F4", "F4"}});
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("held-out run F4 was trained at C = 3e+19, its forecast is "
                                        "for 3.833e+19"));
  }
}

/// Of a table of `count` rows with 0.2 % of noise, seconds and fit.
std::pair<double, LawFit> fit_of_long_table(int count) {
  const std::vector<Observation> rows = tests::rows_of({1.6, 1500, 0.27}, count, 1e15, 1e21, 0.002);
  const double begun = base::monotonic_seconds();
  LawFit fit = fit_law(rows, {.law = "loss_c", .gate = true});
  return {base::monotonic_seconds() - begun, std::move(fit)};
}

TEST(LawFit, ALongTableIsFittedOnAllItsRowsAtACostThatGrowsWithThem) {
  const auto [seconds, fit] = fit_of_long_table(60000);
  EXPECT_EQ(fit.diagnostics.rows, 60000);
  EXPECT_EQ(fit.rows.size(), kRowsKept);
  EXPECT_TRUE(fit.intervals.profile.at("alpha").holds(0.27));
  // Of the noise over the root of the rows: what a sample of them could not give.
  EXPECT_NEAR(fit.parameters.at("E"), 1.6, 1e-3);
  EXPECT_TRUE(fit.diagnostics.solver_agrees);
  EXPECT_THAT(fit.gate.note, testing::HasSubstr("of 60000 rows"));
  const auto [longer, larger] = fit_of_long_table(240000);
  // Four times the rows; sixteen would be their square.
  EXPECT_LT(longer, 9 * seconds + 0.5);
  EXPECT_LT(*larger.intervals.profile.at("E").high - *larger.intervals.profile.at("E").low,
            *fit.intervals.profile.at("E").high - *fit.intervals.profile.at("E").low);
}

}  // namespace
}  // namespace windtunnel::scaling

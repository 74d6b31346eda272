// Published data sets and the minima known for them. They lie beside the repository and not in it;
// without them these tests say so and skip.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "scaling/approaches.h"
#include "scaling/law_fit.h"

namespace windtunnel::scaling {
namespace {

const std::filesystem::path kData =
    std::filesystem::path(WINDTUNNEL_SOURCE_DIR) / "../shared/scaling-data";

Observations epoch() {
  Observations rows =
      read_observations(kData / "epoch-chinchilla/svg_extracted_data.csv",
                        {.map = ColumnMap::parse("N=Model Size,C=Training FLOP,L=loss")});
  drop_worst(rows, 5);
  return rows;
}

Observations gemstones(const std::string& where = "") {
  return read_observations(
      kData / "gemstones/wandb_df_for_fitting_hot.jsonl",
      {.map = ColumnMap::parse("run=run_name,N=params_active_precise,D=tokens,L=final_loss"),
       .where = RowFilter::parse(where)});
}

std::vector<Observation> take(std::vector<Observation>& rows, const std::string& condition) {
  Observations all{.rows = rows};
  apply_filter(all, RowFilter::parse(condition));
  std::vector<Observation> taken = all.rows;
  std::erase_if(rows, [&](const Observation& row) {
    return std::any_of(taken.begin(), taken.end(),
                       [&](const Observation& other) { return other.name == row.name; });
  });
  return taken;
}

class RealData : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kData)) GTEST_SKIP() << "no folder " << kData;
  }
};

TEST_F(RealData, ChinchillaPointsHaveTheirHuberMinimum) {
  const Observations rows = epoch();
  ASSERT_EQ(rows.rows.size(), 240u);
  ASSERT_EQ(rows.left_out.size(), 5u);
  const LawFit fit =
      fit_law(rows.rows, {.law = "loss_nd", .objective = "huber", .bootstrap = 4000});
  EXPECT_LE(fit.diagnostics.objective, 0.0010182740178 + 1e-9);
  EXPECT_NEAR(fit.parameters.at("E"), 1.817218, 1e-5);
  EXPECT_NEAR(fit.parameters.at("A"), 477.826, 1e-2);
  EXPECT_NEAR(fit.parameters.at("B"), 2143.417, 1e-1);
  EXPECT_NEAR(fit.parameters.at("alpha"), 0.3473105, 1e-6);
  EXPECT_NEAR(fit.parameters.at("beta"), 0.3671724, 1e-6);
  EXPECT_EQ(fit.diagnostics.rows_in_quadratic_zone, 39);
  EXPECT_EQ(fit.verdict.overall, identified::kIdentified);
  const auto& drawn = fit.intervals.bootstrap;
  EXPECT_NEAR(*drawn.at("alpha").low, 0.317, 0.005);
  EXPECT_NEAR(*drawn.at("alpha").high, 0.373, 0.005);
  EXPECT_NEAR(*drawn.at("beta").low, 0.331, 0.005);
  EXPECT_NEAR(*drawn.at("beta").high, 0.415, 0.005);
  EXPECT_EQ(fit.diagnostics.bootstrap_failures, 0);
}

TEST_F(RealData, ChinchillaPointsBelowABudgetForecastThoseAbove) {
  std::vector<Observation> rows = epoch().rows;
  const std::vector<Observation> held_out = take(rows, "C>=1e21");
  ASSERT_EQ(rows.size(), 217u);
  ASSERT_EQ(held_out.size(), 23u);
  std::vector<Wanted> wanted;
  std::map<std::string, std::string> names;
  for (const Observation& row : held_out) {
    wanted.push_back({row.name, point_of(row)});
    names[row.name] = row.name;
  }
  LawFit fit = fit_law(rows, {.law = "loss_nd", .on = "linear"}, wanted);
  score_forecasts(fit, held_out, names);
  EXPECT_NEAR(fit.diagnostics.residual_sum_of_squares, 0.0624142929, 1e-9);
  EXPECT_NEAR(fit.parameters.at("E"), 1.905092, 1e-5);
  const double alpha = fit.parameters.at("alpha"), beta = fit.parameters.at("beta");
  EXPECT_NEAR(alpha, 0.351058, 1e-5);
  EXPECT_NEAR(beta, 0.458742, 1e-5);
  EXPECT_NEAR(fit.parameters.at("A") * std::pow(1e6, -alpha), 4.000522, 1e-4);
  EXPECT_NEAR(fit.parameters.at("B") * std::pow(1e9, -beta), 1.050948, 1e-4);
  double squares = 0;
  for (const HeldOut& row : fit.held_out) squares += std::pow(row.measured - row.predicted, 2);
  EXPECT_NEAR(std::sqrt(squares / 23), 0.0336, 5e-5);
}

TEST_F(RealData, BootstrapIsWiderThanTheProfileWhereNoiseGrowsAndAWarningSaysSo) {
  const LawFit fit = fit_law(epoch().rows, {.law = "loss_nd", .bootstrap = 1000});
  EXPECT_NEAR(fit.parameters.at("alpha"), 0.360253, 1e-5);
  EXPECT_NEAR(fit.diagnostics.residual_sum_of_squares, 0.0114619, 1e-6);
  EXPECT_THAT(fit.warnings, testing::Contains(testing::HasSubstr("beta")));
}

TEST_F(RealData, OverTrainedRunsAreForecastFromFiveSmallOnes) {
  const std::string small =
      "dataset=rpj and model=d=96_l=8_h=4 and chinchilla_multiplier=1 or "
      "dataset=rpj and model=d=512_l=8_h=4 and chinchilla_multiplier=1 or "
      "dataset=rpj and model=d=576_l=24_h=8 and chinchilla_multiplier=1 or "
      "dataset=rpj and model=d=1024_l=24_h=8 and chinchilla_multiplier=1 or "
      "dataset=rpj and model=d=96_l=8_h=4 and chinchilla_multiplier=16";
  const auto read = [&](const std::string& where) {
    return read_observations(kData / "gadre-overtrain/models.csv",
                             {.map = ColumnMap::parse("name=name,N=params,D=tokens,L=loss_c4_val"),
                              .where = RowFilter::parse(where)})
        .rows;
  };
  const std::vector<Observation> rows = read(small);
  ASSERT_EQ(rows.size(), 5u);
  const std::vector<Observation> large = read(
      "dataset=rpj and model=open_lm_1b and chinchilla_multiplier=32 or "
      "dataset=rpj and model=open_lm_7b and chinchilla_multiplier=1");
  ASSERT_EQ(large.size(), 2u);
  LawFit fit = fit_law(rows, {.law = "overtrain_nm", .on = "linear"},
                       {{large[0].name, point_of(large[0])}, {large[1].name, point_of(large[1])}});
  EXPECT_NEAR(fit.parameters.at("alpha"), 166.211, 0.01);
  EXPECT_NEAR(fit.parameters.at("beta"), 366.687, 0.02);
  EXPECT_NEAR(fit.parameters.at("b"), -0.272851, 1e-5);
  EXPECT_NEAR(fit.parameters.at("E"), 1.836648, 1e-5);
  score_forecasts(fit, large, {{large[0].name, large[0].name}, {large[1].name, large[1].name}});
  for (const HeldOut& row : fit.held_out) {
    const bool is_1b = row.name.find("1b") != std::string::npos;
    // Theirs is relative to the measured loss.
    EXPECT_NEAR(std::abs(row.predicted / row.measured - 1), is_1b ? 0.007103 : 0.007320, 5e-6);
  }
}

TEST_F(RealData, GemstonesBeforeCoolDownHaveTheirHuberMinimum) {
  const LawFit fit = fit_law(gemstones().rows, {.law = "loss_nd", .objective = "huber"});
  EXPECT_EQ(fit.diagnostics.rows, 220);
  EXPECT_LE(fit.diagnostics.objective, 0.001981612809 + 1e-9);
  EXPECT_NEAR(fit.parameters.at("alpha"), 0.292892, 2e-5);
  EXPECT_NEAR(fit.parameters.at("beta"), 0.712979, 5e-5);
}

TEST_F(RealData, GemstonesHullHasTwentyOneCornersAndThePublishedSlopes) {
  const Observations rows = read_observations(
      kData / "gemstones/hot_477_with_flops.csv",
      {.map = ColumnMap::parse(
           "run=run_name,N=params_active_precise,D=tokens,C=flops_exact,L=final_loss"),
       .flops_convention = convention::kExact});
  ASSERT_EQ(rows.rows.size(), 1100u);
  const HullApproach hull = hull_approach(rows.rows);
  EXPECT_EQ(hull.points, 21);
  EXPECT_NEAR(hull.parameters.exponent, 0.499380216082637, 1e-9);
  EXPECT_NEAR(hull.parameters.intercept, -2.845107696, 1e-6);
  EXPECT_NEAR(hull.tokens.exponent, 0.480988823213, 1e-9);
}

TEST_F(RealData, AlmostOneModelSizeIsRefusedForSizeWithTheReason) {
  const LawFit fit = fit_law(gemstones("width=512").rows, {.law = "loss_nd", .objective = "huber"});
  for (const char* name : {"A", "alpha"}) {
    const ParameterVerdict& verdict = fit.verdict.parameters.at(name);
    EXPECT_EQ(verdict.verdict, identified::kRefused);
    EXPECT_THAT(verdict.reasons,
                testing::Contains(testing::HasSubstr("the sizes N lie within a factor of 1.21")));
    EXPECT_THAT(verdict.cures, testing::Contains(testing::HasSubstr("train sizes around N = ")));
  }
  EXPECT_EQ(fit.verdict.overall, identified::kRefused);
}

}  // namespace
}  // namespace windtunnel::scaling

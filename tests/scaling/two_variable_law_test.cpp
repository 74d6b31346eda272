// A law of two variables, written here as a user would: one registration. It passes the contract
// suite with the others, and where real data lie beside the repository it must find their minimum.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "scaling/fit.h"
#include "scaling/observations.h"

namespace windtunnel::scaling {
namespace {

void log_terms(const Point& point, const double* exponents, double* terms, double* derivatives) {
  const double n = std::log(point.parameters), d = std::log(point.tokens);
  terms[0] = 0;
  terms[1] = -exponents[0] * n;
  terms[2] = -exponents[1] * d;
  const double slopes[] = {0, 0, -n, 0, 0, -d};
  std::copy(std::begin(slopes), std::end(slopes), derivatives);
}

const base::Registration<Law> registration{{
    .name = "test_loss_nd",
    .summary = "L(N, D) = E + A N^-alpha + B D^-beta",
    .source = "Hoffmann et al. 2022, arXiv:2203.15556",
    .entry = {.variables = {Variable::kParameters, Variable::kTokens},
              .coefficients = {{.name = "E", .may_vanish = true}, {.name = "A"}, {.name = "B"}},
              .exponents = {{.name = "alpha"}, {.name = "beta"}},
              .log_terms = log_terms},
}};

const std::filesystem::path kEpoch =
    std::filesystem::path(WINDTUNNEL_SOURCE_DIR) /
    "../shared/scaling-data/epoch-chinchilla/svg_extracted_data.csv";

/// The rows of the published analysis: all but the five of highest loss, D = C / 6N.
std::vector<Row> epoch_rows() {
  const Observations table =
      read_observations(kEpoch, {.map = ColumnMap::parse("N=Model Size,C=Training FLOP,L=loss")});
  EXPECT_EQ(table.rows.size(), 245u);
  std::vector<double> losses;
  for (const Observation& row : table.rows) losses.push_back(row.loss);
  std::sort(losses.rbegin(), losses.rend());
  std::vector<Row> rows;
  for (const Observation& row : table.rows) {
    if (row.loss >= losses[4]) continue;
    Point point = point_of(row);
    point.tokens = point.flops / (6 * point.parameters);
    rows.push_back({.point = point, .loss = row.loss, .name = row.name});
  }
  return rows;
}

TEST(TwoVariableLaw, FindsThePublishedHuberMinimumOfTheChinchillaPoints) {
  if (!std::filesystem::exists(kEpoch)) GTEST_SKIP() << "no file " << kEpoch;
  const Target target{
      .law = &law_named("test_loss_nd").entry, .rows = epoch_rows(), .huber_delta = 1e-3};
  ASSERT_EQ(target.rows.size(), 240u);
  const Search found = search(target, 6);
  EXPECT_LE(found.best.objective, 0.0010182740178 + 1e-9);
  EXPECT_NEAR(found.best.coefficients[0], 1.817218, 1e-4);
  EXPECT_NEAR(found.best.coefficients[1] / 477.826, 1, 1e-3);
  EXPECT_NEAR(found.best.coefficients[2] / 2143.417, 1, 1e-3);
  EXPECT_NEAR(found.best.exponents[0], 0.3473105, 1e-5);
  EXPECT_NEAR(found.best.exponents[1], 0.3671724, 1e-5);
}

TEST(TwoVariableLaw, FindsThePublishedLeastSquaresMinimumOnLinearLoss) {
  if (!std::filesystem::exists(kEpoch)) GTEST_SKIP() << "no file " << kEpoch;
  Target target{.law = &law_named("test_loss_nd").entry, .on_log = false};
  for (const Row& row : epoch_rows()) {
    if (row.point.flops < 1e21) target.rows.push_back(row);
  }
  ASSERT_EQ(target.rows.size(), 217u);
  const Minimum best = search(target, 6).best;
  EXPECT_NEAR(2 * best.objective, 0.0624142929, 1e-9);
  EXPECT_NEAR(best.coefficients[0], 1.905092, 1e-5);
  EXPECT_NEAR(best.exponents[0], 0.351058, 1e-5);
  EXPECT_NEAR(best.exponents[1], 0.458742, 1e-5);
}

}  // namespace
}  // namespace windtunnel::scaling

// What a fit refuses, by its message: the rows or columns are named, nothing is extrapolated in
// silence.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "scaling/law_fit.h"
#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

using testing::HasSubstr;

std::vector<Observation> rows_of(const std::vector<double>& sizes,
                                 const std::vector<double>& tokens) {
  std::vector<Observation> rows;
  for (const double n : sizes) {
    for (const double d : tokens) {
      const double loss = 1.7 + 400 * std::pow(n, -0.34) + 1500 * std::pow(d, -0.36);
      rows.push_back(tests::row("r" + std::to_string(rows.size()), 6 * n * d, loss));
      rows.back().parameters_active = n;
      rows.back().tokens = d;
    }
  }
  return rows;
}

std::string refusal(const std::vector<Observation>& rows, const std::vector<Wanted>& wanted = {}) {
  try {
    fit_law(rows, {.law = "loss_nd"}, wanted);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Refusals, OneSizeIsRefusedForSizeWithTheSizesThatWouldCureIt) {
  EXPECT_EQ(
      refusal(rows_of({1e8}, {1e9, 2e9, 4e9, 8e9, 16e9, 32e9})),
      "law loss_nd is refused for N: all 6 rows have N = 1e+08, so nothing tells what N does; "
      "add runs at other N, around 2.5e+07 and 4e+08");
}

TEST(Refusals, OneAmountOfTokensIsRefusedForTokens) {
  EXPECT_THAT(refusal(rows_of({1e7, 2e7, 4e7, 8e7, 16e7, 32e7}, {1e9})),
              HasSubstr("law loss_nd is refused for D: all 6 rows have D = 1e+09"));
}

TEST(Refusals, TwoSizesFitButTheirExponentIsRefusedWithTheReason) {
  const LawFit fit = fit_law(rows_of({1e7, 1e9}, {1e9, 4e9, 16e9, 64e9}), {.law = "loss_nd"});
  EXPECT_EQ(fit.verdict.parameters.at("alpha").verdict, identified::kRefused);
  EXPECT_THAT(fit.verdict.parameters.at("alpha").reasons,
              testing::Contains("2 sizes N, 3 are needed"));
}

TEST(Refusals, FewerRowsThanParametersAreCounted) {
  EXPECT_THAT(refusal(rows_of({1e7, 1e8}, {1e9, 4e9})),
              HasSubstr("law loss_nd has 5 parameters and needs 6 rows at 5 different N, D; there "
                        "are 4 rows at 4"));
}

TEST(Refusals, AHeldOutRunInsideTheFittedRangeIsNamed) {
  EXPECT_THAT(refusal(rows_of({1e7, 1e8, 1e9}, {1e9, 4e9, 16e9}), {{"inside", {1e8, 1e9, 6e17}}}),
              HasSubstr("held-out inside lies inside the fitted range by C = 6e+17 (fitted up to "
                        "9.6e+19), N = 1e+08 (fitted up to 1e+09), D = 1e+09"));
}

TEST(Refusals, SixNdIsHeldAgainstGivenFlops) {
  auto rows = rows_of({1e7, 1e8, 1e9}, {1e9, 4e9, 16e9});
  rows[4].flops = *rows[4].flops * 3;
  EXPECT_THAT(refusal(rows), HasSubstr("r4: C = 7.2e+18 is 3 times 6ND"));
}

}  // namespace
}  // namespace windtunnel::scaling

#include "scaling/rate_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/random.h"

namespace windtunnel::scaling {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kExact = 1e-12;

RateTrial measured(double rate, double loss) {
  return {.rate = rate, .state = RateTrial::State::kMeasured, .loss = loss};
}
RateTrial ended(double rate, RateTrial::State state) { return {.rate = rate, .state = state}; }

TEST(RateGrid, SizesAndCurvesMeetInTheSameRates) {
  const RateGridConfig grid;
  EXPECT_THAT(rate_grid(0.003, 0.003, grid), ElementsAre(0.001, 0.003, 0.009));
  // Nearest in ln: 0.0016 is nearer to 0.001 than to 0.003, whose middle is 0.00173.
  EXPECT_THAT(rate_grid(0.003, 0.0016, grid), ElementsAre(0.0003333, 0.001, 0.003));
  EXPECT_THAT(rate_grid(0.003, 0.0018, grid), ElementsAre(0.001, 0.003, 0.009));
  EXPECT_THAT(rate_grid(0.01, 0.01, {.points = 5, .factor = 2}),
              ElementsAre(0.0025, 0.005, 0.01, 0.02, 0.04));
}

TEST(RateGrid, EndsAtTheLargestRateThereIs) {
  EXPECT_THAT(rate_grid(5, 5, {}), ElementsAre(1.667, 5));
}

TEST(RateRule, WithoutOptimaTheBaseAndTheGivenExponentRule) {
  const RateRule rule({.parameters = 1e6, .rate = 0.02}, {}, -0.8, {});
  EXPECT_NEAR(rule.rate(1e6), 0.02, kExact);
  EXPECT_NEAR(rule.rate(8e6), 0.02 * std::pow(8, -0.8), kExact);
}

TEST(RateRule, OneOptimumMovesTheLineAndLeavesItsSlope) {
  const RateRule rule({.parameters = 1e6, .rate = 0.02}, {{2e6, 0.05}}, -0.8, {});
  EXPECT_NEAR(rule.exponent(), -0.8, kExact);
  EXPECT_NEAR(rule.rate(6e6), 0.05 * std::pow(3, -0.8), kExact);
}

/// Intercept and slope of ln rate on ln N by the normal equations of the posterior, solved by
/// Cramer's rule: an independent way to the same line.
std::array<double, 2> posterior_line(const std::vector<SizeAndRate>& optima, double exponent,
                                     const RateGridConfig& grid) {
  const double noise = std::pow(std::log(grid.factor), 2) / 12;
  const double prior = 1 / (grid.exponent_sd * grid.exponent_sd);
  double ones = 0, sizes = 0, squares = prior, rates = 0, products = exponent * prior;
  for (const SizeAndRate& optimum : optima) {
    const double x = std::log(optimum.parameters);
    const double y = std::log(optimum.rate);
    ones += 1 / noise;
    sizes += x / noise;
    squares += x * x / noise;
    rates += y / noise;
    products += x * y / noise;
  }
  const double determinant = ones * squares - sizes * sizes;
  return {(rates * squares - products * sizes) / determinant,
          (ones * products - sizes * rates) / determinant};
}

TEST(RateRule, ManyOptimaAreAPosteriorLine) {
  base::RandomStream random(1, "optima");
  for (int round = 0; round < 20; ++round) {
    RateGridConfig grid;
    grid.factor = 2 + random.uniform();
    grid.exponent_sd = 0.1 + random.uniform();
    std::vector<SizeAndRate> optima;
    for (int i = 0; i < 2 + round % 4; ++i) {
      optima.push_back({1e5 * std::exp(6 * random.uniform()), 0.01 * std::exp(random.normal())});
    }
    const RateRule rule({.parameters = 1e6, .rate = 0.02}, optima, -0.6, grid);
    const auto line = posterior_line(optima, -0.6, grid);
    EXPECT_NEAR(rule.exponent(), line[1], 1e-9);
    for (const double size : {1e5, 1e6, 1e9}) {
      EXPECT_NEAR(std::log(rule.rate(size)), line[0] + line[1] * std::log(size), 1e-8);
    }
  }
}

TEST(RateRule, FarApartOptimaOverruleThePriorAndNeighboursDoNot) {
  const SizeAndRate base{.parameters = 1e6, .rate = 0.02};
  const RateRule far(base, {{1e5, 0.1}, {1e7, 0.1}, {1e9, 0.1}}, -0.8, {});
  EXPECT_NEAR(far.exponent(), 0, 0.02);
  // One step of the grid between sizes of 76 M and 91 M would mean an exponent of -6.
  const RateRule near(base, {{76e6, 0.003}, {91e6, 0.001}}, -0.8, {});
  EXPECT_NEAR(near.exponent(), -0.8, 0.3);
}

TEST(RateRule, ItIsLessSureFurtherOut) {
  const RateRule rule({.parameters = 1e6, .rate = 0.02}, {{1e6, 0.02}, {4e6, 0.01}}, -0.8, {});
  EXPECT_LT(rule.log_sd(2e6), rule.log_sd(16e6));
  EXPECT_LT(rule.log_sd(16e6), rule.log_sd(160e6));
}

TEST(RateChoice, TheVertexOfAParabolaIsFoundExactly) {
  // ln loss = 1 + 0.02 (ln rate - ln 0.004)^2
  std::vector<RateTrial> trials;
  for (const double rate : {0.001, 0.003, 0.009}) {
    trials.push_back(measured(rate, std::exp(1 + 0.02 * std::pow(std::log(rate / 0.004), 2))));
  }
  const RateChoice choice = choose_rate(trials, 0.003, {});
  EXPECT_TRUE(choice.settled);
  EXPECT_EQ(choice.best, 1u);
  EXPECT_EQ(choice.status, "tuned");
  EXPECT_NEAR(choice.optimum, 0.004, 1e-9);
}

TEST(RateChoice, TheOptimumStaysWithinHalfAStepOfTheBest) {
  base::RandomStream random(2, "losses");
  for (int round = 0; round < 200; ++round) {
    const std::vector<RateTrial> trials = {measured(0.001, 2 + random.uniform()),
                                           measured(0.003, 2),
                                           measured(0.009, 2 + random.uniform())};
    const double off = std::log(choose_rate(trials, 0.003, {}).optimum / 0.003);
    EXPECT_LE(std::abs(off), std::log(3) / 2 + kExact);
  }
}

TEST(RateChoice, ABestAtTheEdgeAsksForOneMoreAndThenSaysSo) {
  std::vector<RateTrial> trials = {measured(0.001, 2.2), measured(0.003, 2.1),
                                   measured(0.009, 2.0)};
  RateGridConfig grid;
  grid.extensions = 1;
  RateChoice choice = choose_rate(trials, 0.003, grid);
  EXPECT_FALSE(choice.settled);
  EXPECT_THAT(*choice.next, DoubleEq(0.027));
  EXPECT_THAT(choice.note, HasSubstr("the best, 0.009, is at the upper edge of the grid from 0.001 "
                                     "to 0.009; 0.027 is tried next"));
  trials.push_back(measured(0.027, 1.9));
  choice = choose_rate(trials, 0.003, grid);
  EXPECT_TRUE(choice.settled);
  EXPECT_EQ(choice.status, "edge");
  EXPECT_EQ(choice.optimum, 0.027);
  EXPECT_THAT(choice.note, HasSubstr("after 1 extensions; the optimum lies beyond"));
}

TEST(RateChoice, TheLowerEdgeIsExtendedDownwards) {
  const std::vector<RateTrial> trials = {measured(0.001, 2.0), measured(0.003, 2.1),
                                         measured(0.009, 2.2)};
  EXPECT_THAT(*choose_rate(trials, 0.003, {}).next, DoubleEq(0.0003333));
}

TEST(RateChoice, ADivergedNeighbourBoundsTheBestAndACrashedOneDoesNot) {
  std::vector<RateTrial> trials = {measured(0.001, 2.2), measured(0.003, 2.1),
                                   ended(0.009, RateTrial::State::kDiverged)};
  RateChoice choice = choose_rate(trials, 0.003, {});
  EXPECT_EQ(choice.status, "tuned");
  EXPECT_EQ(choice.optimum, 0.003);
  trials[2].state = RateTrial::State::kUnusable;
  choice = choose_rate(trials, 0.003, {});
  EXPECT_TRUE(choice.settled);
  EXPECT_EQ(choice.status, "edge");
  EXPECT_THAT(choice.note, HasSubstr("0.009 did not end in a loss"));
}

TEST(RateChoice, PendingTrialsDecideNothing) {
  const RateChoice choice = choose_rate(
      {measured(0.001, 2.2), ended(0.003, RateTrial::State::kPending), measured(0.009, 2.3)}, 0.003,
      {});
  EXPECT_FALSE(choice.settled);
  EXPECT_FALSE(choice.next);
}

TEST(RateChoice, NothingMeasuredIsSettledWithoutABest) {
  const std::vector<RateTrial> trials(3, ended(0.003, RateTrial::State::kDiverged));
  const RateChoice choice = choose_rate(trials, 0.003, {});
  EXPECT_TRUE(choice.settled);
  EXPECT_FALSE(choice.best);
}

TEST(RateChoice, TheGridDoesNotLeaveTheRatesThereAre) {
  const std::vector<RateTrial> trials = {measured(1.111, 2.2), measured(3.333, 2.1),
                                         measured(10, 2.0)};
  const RateChoice choice = choose_rate(trials, 10, {});
  EXPECT_TRUE(choice.settled);
  EXPECT_THAT(choice.note, HasSubstr("ends at the largest rate there is"));
}

}  // namespace
}  // namespace windtunnel::scaling

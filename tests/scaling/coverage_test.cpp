// An interval that says 90 % must hold the truth in 90 % of noisy data sets.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "scaling/law_fit.h"
#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

constexpr int kSets = 300;
constexpr double kConfidence = 0.9;

/// Fewer data sets than the three points below are stated for, unless WINDTUNNEL_LONG asks for all.
bool is_long() { return std::getenv("WINDTUNNEL_LONG") != nullptr; }

/// Three standard deviations of a count out of kSets.
double tolerance() { return 3 * std::sqrt(kConfidence * (1 - kConfidence) / kSets); }

TEST(Coverage, IntervalsHoldTheTruthAtTheirStatedRate) {
  const tests::Truth truth{1.2, 600, 0.22};
  constexpr double kNoise = 0.003;
  constexpr double kFurther = 8e15;
  int offset = 0, exponent = 0, forecast = 0;
  for (int set = 0; set < kSets; ++set) {
    const auto seed = static_cast<uint64_t>(set);
    Target target{.law = &law_named("loss_c").entry};
    for (const auto& row : tests::rows_of(truth, 10, 1e12, 1e15, kNoise, seed)) {
      target.rows.push_back({.point = point_of(row), .loss = row.loss});
    }
    const Minimum best = search(target, 2).best;
    const Noise noise = noise_of(target, best, kConfidence, std::nullopt);
    offset += profile_interval(target, best, noise, "E").holds(truth.E);
    exponent += profile_interval(target, best, noise, "alpha").holds(truth.alpha);
    base::RandomStream random(seed, "new run");
    const double outcome = truth(kFurther) * std::exp(kNoise * random.normal());
    forecast += forecast_interval(target, best, noise, {.flops = kFurther}).holds(outcome);
  }
  EXPECT_NEAR(static_cast<double>(offset) / kSets, kConfidence, tolerance());
  EXPECT_NEAR(static_cast<double>(exponent) / kSets, kConfidence, tolerance());
  EXPECT_NEAR(static_cast<double>(forecast) / kSets, kConfidence, tolerance());
}

TEST(Coverage, AForecastFromFiveRungsHoldsTheHeldOutRunAtTheStatedRate) {
  const tests::Truth truth{1.5, 1100, 0.256};
  constexpr double kNoise = 0.009;
  int held = 0;
  for (int set = 0; set < kSets; ++set) {
    const uint64_t seed = uint64_t{1000} + static_cast<uint64_t>(set);
    Target target{.law = &law_named("loss_c").entry};
    for (const auto& row : tests::rows_of(truth, 5, 1.7e11, 4.3e12, kNoise, seed)) {
      target.rows.push_back({.point = point_of(row), .loss = row.loss});
    }
    const Minimum best = search(target, 2).best;
    const Noise noise = noise_of(target, best, kConfidence, std::nullopt);
    base::RandomStream random(seed, "new run");
    const double outcome = truth(1.09e13) * std::exp(kNoise * random.normal());
    held += forecast_interval(target, best, noise, {.flops = 1.09e13}).holds(outcome);
  }
  // Two degrees of freedom and an offset that may sit at 0: at least the stated rate.
  EXPECT_GE(static_cast<double>(held) / kSets, kConfidence - tolerance());
}

/// Of `sets` tables, the share of intervals of all parameters of loss_nd that hold the truth. Runs
/// of `rows_of_a_run` rows each are off together by `between_runs` and drift along ln D by `drift`,
/// each row by `noise` besides.
double share_held(int sets, int runs, int rows_of_a_run, double noise, double between_runs,
                  double drift, std::optional<double> huber_delta) {
  const Law& law = law_named("loss_nd").entry;
  const Minimum truth{.coefficients = {1.8, 480, 2100}, .exponents = {0.35, 0.37}};
  int held = 0, judged = 0;
  for (int set = 0; set < sets; ++set) {
    base::RandomStream random(static_cast<uint64_t>(set), "tables");
    Target target{.law = &law, .huber_delta = huber_delta};
    for (int run = 0; run < runs; ++run) {
      const double size = std::pow(10, random.uniform(7, 10)), off = between_runs * random.normal();
      const double slope = drift > 0 ? drift * random.normal() : 0;
      for (int i = 0; i < rows_of_a_run; ++i) {
        const double along = random.uniform(-1, 1);
        const Point point{.parameters = size, .tokens = std::pow(10, 10.5 + 1.5 * along)};
        const double loss = predict(law, truth.coefficients, truth.exponents, point);
        target.rows.push_back(
            {.point = point,
             .loss = loss * std::exp(off + slope * along + noise * random.normal()),
             .run = rows_of_a_run > 1 ? run : kOwnRun});
      }
    }
    const Minimum best = search(target, 4).best;
    const Objective objective(target);
    const Noise level = noise_of(objective, best, 0.95, std::nullopt);
    const auto count = [&](const std::string& name, double value) {
      ++judged;
      held += profile_interval(objective, best, level, name).holds(value) ? 1 : 0;
    };
    for (size_t k = 0; k < 3; ++k) count(law.coefficients[k].name, truth.coefficients[k]);
    for (size_t j = 0; j < 2; ++j) count(law.exponents[j].name, truth.exponents[j]);
  }
  return static_cast<double>(held) / judged;
}

TEST(Coverage, HubersIntervalsHoldTheTruthWithAFifthOfTheRowsInItsQuadraticZone) {
  const int sets = is_long() ? 1000 : 150;
  for (const int runs : {15, 30, 60}) {
    const double held = share_held(sets, runs, 1, 0.004, 0, 0, 1e-3);
    std::cout << runs << " rows: " << held << "\n";
    EXPECT_NEAR(held, 0.95, is_long() ? 0.03 : 3 * std::sqrt(0.95 * 0.05 / sets))
        << runs << " rows";
  }
}

TEST(Coverage, CheckpointsOfOneRunDoNotPassForRuns) {
  const int sets = is_long() ? 500 : 100;
  // Cautious where runs are few: never below what is stated.
  for (const double between : {0.01, 0.0}) {
    EXPECT_GE(share_held(sets, 12, 8, 0.002, between, 0, std::nullopt), 0.93) << between;
  }
  EXPECT_GE(share_held(sets, 12, 10, 0.0005, 0, 0.003, std::nullopt), 0.93) << "drift";
  EXPECT_GE(share_held(sets, 30, 10, 0.0005, 0, 0.003, std::nullopt), 0.93) << "drift";
}

struct Known {
  const char* law;
  std::vector<double> coefficients;
  std::vector<double> exponents;
  double noise;
};

class CoverageByLaw : public testing::TestWithParam<Known> {};

/// Thirty runs at several tokens per parameter, over four decades of compute.
std::vector<Point> design() {
  std::vector<Point> points;
  for (int size = 0; size < 6; ++size) {
    for (const double ratio : {5.0, 10.0, 20.0, 40.0, 80.0}) {
      const double n = 1e7 * std::pow(10, size * 0.4);
      points.push_back({n, ratio * n, 6 * n * ratio * n});
    }
  }
  return points;
}

TEST_P(CoverageByLaw, ProfileIntervalsHoldTheTruthWhereTheVerdictIsIdentified) {
  const Known& known = GetParam();
  const Law& law = law_named(known.law).entry;
  const int sets = is_long() ? 1000 : 120;
  constexpr double kStated = 0.95;
  std::map<std::string, int> held, judged;
  for (int set = 0; set < sets; ++set) {
    base::RandomStream random(static_cast<uint64_t>(set), "noisy data sets");
    std::vector<Observation> rows;
    for (const Point& point : design()) {
      const double loss = predict(law, known.coefficients, known.exponents, point);
      rows.push_back(tests::row("r" + std::to_string(rows.size()), point.flops,
                                loss * std::exp(known.noise * random.normal())));
      rows.back().parameters_active = point.parameters;
      rows.back().tokens = point.tokens;
      // Of a law of optima the value stands in both places.
      rows.back().learning_rate = rows.back().batch_tokens = rows.back().loss;
    }
    const LawFit fit = fit_law(rows, {.law = known.law, .starts = 4, .confidence = kStated});
    const auto count = [&](const std::string& name, double truth) {
      if (fit.verdict.parameters.at(name).verdict != identified::kIdentified) return;
      ++judged[name];
      held[name] += fit.intervals.profile.at(name).holds(truth) ? 1 : 0;
    };
    for (size_t k = 0; k < law.coefficients.size(); ++k) {
      count(law.coefficients[k].name, known.coefficients[k]);
    }
    for (size_t j = 0; j < law.exponents.size(); ++j) {
      count(law.exponents[j].name, shown_value(law.exponents[j], known.exponents[j]));
    }
  }
  for (const auto& [name, count] : judged) {
    EXPECT_GT(count, 0.9 * sets) << name << " is seldom identified";
    std::cout << known.law << " " << name << ": identified in " << count << " of " << sets
              << " data sets, " << held[name] << " intervals held the truth\n";
    const double sampling = 3 * std::sqrt(kStated * (1 - kStated) / count);
    EXPECT_NEAR(static_cast<double>(held[name]) / count, kStated, is_long() ? 0.03 : sampling)
        << name;
  }
  EXPECT_EQ(judged.size(), static_cast<size_t>(law.parameter_count()));
}

INSTANTIATE_TEST_SUITE_P(Laws, CoverageByLaw,
                         testing::Values(Known{"power_c", {30}, {0.06}, 0.005},
                                         Known{"loss_c", {1.7, 1600}, {0.17}, 0.001},
                                         Known{"loss_nd", {1.7, 400, 1500}, {0.34, 0.36}, 0.001},
                                         Known{"overtrain_nm", {1.8, 170, 370}, {0.27}, 0.001},
                                         Known{"rate_n", {20}, {0.45}, 0.1},
                                         Known{"rate_nd", {1.79}, {0.713, 0.307}, 0.05},
                                         Known{"rate_c", {0.3118}, {0.125}, 0.05},
                                         Known{"batch_d", {0.58}, {0.571}, 0.1},
                                         Known{"batch_c", {0.292}, {0.3271}, 0.1}),
                         [](const auto& item) { return std::string(item.param.law); });

}  // namespace
}  // namespace windtunnel::scaling

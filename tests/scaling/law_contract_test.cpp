// The suite every registered law must pass.

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "scaling/intervals.h"
#include "scaling/objective.h"

namespace windtunnel::scaling {
namespace {

/// Points spread over three decades in every variable, not along one line.
std::vector<Point> design() {
  base::RandomStream random(3, "design");
  std::vector<Point> points;
  for (int i = 0; i < 60; ++i) {
    const double parameters = 1e6 * std::pow(10, random.uniform(0, 3));
    const double tokens = 1e8 * std::pow(10, random.uniform(0, 3));
    // Some runs see their data once, others up to thirty times.
    const double epochs = std::max(1.0, random.uniform(-10, 30));
    points.push_back({parameters, tokens, 6 * parameters * tokens, tokens / epochs});
  }
  return points;
}

/// Numbers of a law whose terms are alike in size in the middle of the design.
Minimum typical(const Law& law) {
  Minimum minimum;
  for (size_t j = 0; j < law.exponents.size(); ++j) {
    const double middle_of_grid = std::sqrt(law.exponents[j].grid_low * law.exponents[j].grid_high);
    minimum.exponents.push_back((law.exponents[j].is_scale ? middle_of_grid : 0.21) +
                                0.13 * static_cast<double>(j));
  }
  const Point middle{3e7, 3e9, 6 * 3e7 * 3e9, 1e9};
  std::vector<double> terms(Law::kMaximumTerms);
  std::vector<double> derivatives(Law::kMaximumTerms * Law::kMaximumExponents);
  law.log_terms(middle, minimum.exponents.data(), terms.data(), derivatives.data());
  for (size_t k = 0; k < law.coefficients.size(); ++k) {
    minimum.coefficients.push_back((1 + 0.3 * static_cast<double>(k)) * std::exp(-terms[k]));
  }
  return minimum;
}

class EveryLaw : public testing::TestWithParam<std::string> {
 protected:
  const Law& law() const { return law_named(GetParam()).entry; }
};

TEST_P(EveryLaw, StatesItsFormulaAndItsSource) {
  const std::string left = law().response ? variable_name(*law().response) + "*(" : "L(";
  EXPECT_EQ(law_named(GetParam()).summary.find(left), 0u);
  EXPECT_FALSE(law_named(GetParam()).source.empty());
  EXPECT_LE(law().coefficients.size(), static_cast<size_t>(Law::kMaximumTerms));
  EXPECT_LE(law().exponents.size(), static_cast<size_t>(Law::kMaximumExponents));
}

TEST_P(EveryLaw, DerivativesOfItsTermsMatchFiniteDifferences) {
  const size_t terms = law().coefficients.size(), exponents = law().exponents.size();
  const std::vector<double> at = typical(law()).exponents;
  for (const Point& point : design()) {
    std::vector<double> value(terms), slope(terms * exponents), unused(terms * exponents);
    law().log_terms(point, at.data(), value.data(), slope.data());
    for (size_t j = 0; j < exponents; ++j) {
      constexpr double kStep = 1e-6;
      std::vector<double> high(terms), low(terms), moved = at;
      moved[j] = at[j] + kStep;
      law().log_terms(point, moved.data(), high.data(), unused.data());
      moved[j] = at[j] - kStep;
      law().log_terms(point, moved.data(), low.data(), unused.data());
      for (size_t k = 0; k < terms; ++k) {
        EXPECT_NEAR(slope[k * exponents + j], (high[k] - low[k]) / (2 * kStep), 1e-6);
      }
    }
  }
}

/// The loops over columns, against the law itself and finite differences of it.
TEST_P(EveryLaw, GradientAndHessianOfTheObjectiveMatchFiniteDifferences) {
  const Minimum truth = typical(law());
  const size_t terms = law().coefficients.size(), exponents = law().exponents.size();
  for (const bool on_log : {true, false}) {
    Target target{.law = &law(), .on_log = on_log, .huber_delta = 0.02};
    base::RandomStream random(5, "noise");
    for (const Point& point : design()) {
      const double loss = predict(law(), truth.coefficients, truth.exponents, point);
      target.rows.push_back({.point = point, .loss = loss * std::exp(0.02 * random.normal())});
    }
    const Objective objective(target);
    double by_hand = 0;
    for (const double r : residuals(target, truth)) {
      by_hand += std::abs(r) <= 0.02 ? r * r / 2 : 0.02 * (std::abs(r) - 0.01);
    }
    EXPECT_NEAR(objective.at(truth) / by_hand, 1, 1e-10);
    RowSums here, high, low;
    objective.sums_at(truth, Curvature::kExact, here);
    constexpr double kStep = 1e-6;
    const auto moved = [&](size_t p, double step) {
      Minimum minimum = truth;
      if (p < terms) {
        minimum.coefficients[p] *= std::exp(step);
      } else {
        // The coefficients are centred: they move so that the middle of the rows stays.
        std::vector<double> before(terms), after(terms), unused(terms * exponents);
        law().log_terms(objective.middle(), minimum.exponents.data(), before.data(), unused.data());
        minimum.exponents[p - terms] += step;
        law().log_terms(objective.middle(), minimum.exponents.data(), after.data(), unused.data());
        for (size_t k = 0; k < terms; ++k) {
          minimum.coefficients[k] *= std::exp(before[k] - after[k]);
        }
      }
      return minimum;
    };
    for (size_t p = 0; p < terms + exponents; ++p) {
      objective.sums_at(moved(p, kStep), Curvature::kExact, high);
      objective.sums_at(moved(p, -kStep), Curvature::kExact, low);
      const double slope = (high.objective - low.objective) / (2 * kStep);
      EXPECT_NEAR(here.gradient[p], slope, 1e-6 * (1 + std::abs(slope)));
      // Laws that are no power laws leave a part of their curvature to the damping.
      if (!law().power_law) continue;
      for (size_t q = 0; q <= p; ++q) {
        const double bend = (high.gradient[q] - low.gradient[q]) / (2 * kStep);
        const double stated = here.hessian[q * kMaximumParameters + p];
        EXPECT_NEAR(stated, bend, 1e-4 * (1 + std::abs(bend))) << p << " " << q;
      }
    }
  }
}

/// A judge that cannot compute a law would agree with everything.
TEST_P(EveryLaw, CeresJudgesItsMinimum) {
  const Minimum truth = typical(law());
  for (const bool huber : {false, true}) {
    Target target{.law = &law(), .huber_delta = huber ? std::optional(0.01) : std::nullopt};
    base::RandomStream random(6, "noise");
    for (const Point& point : design()) {
      const double loss = predict(law(), truth.coefficients, truth.exponents, point);
      target.rows.push_back({.point = point, .loss = loss * std::exp(0.01 * random.normal())});
    }
    const Search found = search(target, 4);
    EXPECT_TRUE(found.solver_agrees);
    EXPECT_LT(found.restart_gain, kSameBasin);
  }
}

/// `truth` with noise at points of the design: about five for each parameter, so that intervals are
/// wide and bent.
Target noisy_target(const Law& law, const Minimum& truth, double noise, uint64_t seed) {
  Target target{.law = &law};
  base::RandomStream random(seed, "noisy target");
  const std::vector<Point> points = design();
  const size_t step = law.parameter_count() > 5 ? 1 : 3;
  for (size_t i = seed % step; i < points.size(); i += step) {
    const double loss = predict(law, truth.coefficients, truth.exponents, points[i]);
    target.rows.push_back({.point = points[i], .loss = loss * std::exp(noise * random.normal())});
  }
  return target;
}

/// sqrt(2 rise / s^2) of what a search from many starts finds: independent of the descents, each
/// from the end of the one before, that the interval was found by.
double rise_by_search(const Target& target, const Pins& pins, const Minimum& best,
                      const Noise& noise) {
  const double rise = search(target, 32, pins).best.objective - best.objective;
  return std::sqrt(std::max(0.0, 2 * rise / noise.variance));
}

/// Also where the truth has no offset, so that half of the fits end at 0 and the interval's
/// descents go along the boundary and off it.
TEST_P(EveryLaw, IntervalsEndWhereTheObjectiveHasRisenToTheirLevel) {
  const uint64_t tables = law().parameter_count() > 5 ? 4 : 24;
  for (uint64_t seed = 0; seed < tables; ++seed) {
    Minimum truth = typical(law());
    for (size_t k = 0; k < law().coefficients.size(); ++k) {
      if (law().coefficients[k].may_vanish && seed % 2 == 1) truth.coefficients[k] = 0;
    }
    Target target = noisy_target(law(), truth, 0.02, seed);
    // So narrow that minima lie at kinks, where few rows are in the quadratic zone.
    if (seed % 4 > 1) target.huber_delta = 0.01;
    const Minimum best = search(target, 32).best;
    const Objective objective(target);
    const Noise noise = noise_of(objective, best, 0.95, std::nullopt);
    const double level = std::sqrt(noise.threshold());
    // The search of a rise may find a minimum that the profile's path does not reach: then the
    // interval would be too short, never too long.
    const auto expect_level = [&](double rise, const std::string& what) {
      EXPECT_NEAR(rise, level, 0.01 * level) << what << ", seed " << seed;
    };
    const auto check = [&](const Interval& interval, const Point& point, double weight,
                           const char* what) {
      for (const auto& end : {interval.low, interval.high}) {
        ASSERT_TRUE(end) << what;
        Target more = target;
        more.rows.push_back({.point = point, .loss = *end, .weight = weight, .robust = false});
        expect_level(rise_by_search(more, {}, best, noise), what);
      }
    };
    Point far = target.rows.front().point;
    for (double* quantity : {&far.parameters, &far.tokens, &far.unique_tokens}) *quantity *= 5;
    far.flops *= 25;
    for (const Point& point : {target.rows.front().point, target.rows.back().point, far}) {
      check(forecast_interval(objective, best, noise, point), point,
            std::sqrt(noise.variance) / noise.one_run, "forecast");
      check(mean_interval(objective, best, noise, point), point, std::sqrt(1000.0), "mean");
    }
    Pins pins;
    pins.coefficients.resize(law().coefficients.size());
    pins.exponents.resize(law().exponents.size());
    const auto check_profile = [&](const std::string& name, std::optional<double>& pin) {
      const Interval interval = profile_interval(objective, best, noise, name);
      for (const auto& end : {interval.low, interval.high}) {
        if (!end || *end == 0) continue;
        pin = end;
        expect_level(rise_by_search(target, pins, best, noise), name);
      }
      pin.reset();
    };
    for (size_t k = 0; k < law().coefficients.size(); ++k) {
      check_profile(law().coefficients[k].name, pins.coefficients[k]);
    }
    for (size_t j = 0; j < law().exponents.size(); ++j) {
      check_profile(law().exponents[j].name, pins.exponents[j]);
    }
  }
}

TEST_P(EveryLaw, RecoversItselfFromExactData) {
  const Minimum truth = typical(law());
  for (const bool on_log : {true, false}) {
    Target target{.law = &law(), .on_log = on_log};
    for (const Point& point : design()) {
      target.rows.push_back(
          {.point = point, .loss = predict(law(), truth.coefficients, truth.exponents, point)});
    }
    const Minimum found = search(target, 8).best;
    for (size_t k = 0; k < truth.coefficients.size(); ++k) {
      EXPECT_NEAR(found.coefficients[k] / truth.coefficients[k], 1, 1e-5);
    }
    for (size_t j = 0; j < truth.exponents.size(); ++j) {
      EXPECT_NEAR(found.exponents[j] / truth.exponents[j], 1, 1e-6);
    }
    EXPECT_TRUE(found.bounds_hit.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Laws, EveryLaw, testing::ValuesIn(Laws::instance().names()),
                         [](const auto& law) { return law.param; });

TEST(Laws, AnUnknownNameListsTheKnown) {
  try {
    law_named("loss_q");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("law 'loss_q' does not exist; known: batch_c, batch_d, loss_c"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace windtunnel::scaling

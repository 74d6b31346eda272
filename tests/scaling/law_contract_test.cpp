// The suite every registered law must pass.

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "scaling/fit.h"

namespace windtunnel::scaling {
namespace {

/// Points spread over three decades in every variable, not along one line.
std::vector<Point> design() {
  base::RandomStream random(3, "design");
  std::vector<Point> points;
  for (int i = 0; i < 24; ++i) {
    const double parameters = 1e6 * std::pow(10, random.uniform(0, 3));
    const double tokens = 1e8 * std::pow(10, random.uniform(0, 3));
    points.push_back({parameters, tokens, 6 * parameters * tokens});
  }
  return points;
}

/// Numbers of a law whose terms are alike in size in the middle of the design.
Minimum typical(const Law& law) {
  Minimum minimum;
  for (size_t j = 0; j < law.exponents.size(); ++j) {
    minimum.exponents.push_back(0.21 + 0.13 * static_cast<double>(j));
  }
  const Point middle{3e7, 3e9, 6 * 3e7 * 3e9};
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
  EXPECT_NE(law_named(GetParam()).summary.find("L("), std::string::npos);
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
    EXPECT_NE(std::string(error.what()).find("law 'loss_q' does not exist; known: loss_c"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace windtunnel::scaling

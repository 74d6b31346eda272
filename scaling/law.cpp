#include "scaling/law.h"

#include <array>
#include <cmath>

namespace windtunnel::scaling {

std::string variable_name(Variable variable) {
  switch (variable) {
    case Variable::kParameters:
      return "N";
    case Variable::kTokens:
      return "D";
    case Variable::kFlops:
      return "C";
    case Variable::kUniqueTokens:
      return "U";
    case Variable::kLearningRate:
      return "lr";
    case Variable::kBatchTokens:
      return "B";
  }
  return "";
}

double value_of(const Point& point, Variable variable) {
  switch (variable) {
    case Variable::kParameters:
      return point.parameters;
    case Variable::kTokens:
      return point.tokens;
    case Variable::kFlops:
      return point.flops;
    case Variable::kUniqueTokens:
      return point.unique_tokens;
    case Variable::kLearningRate:
      return point.learning_rate;
    case Variable::kBatchTokens:
      return point.batch_tokens;
  }
  return 0;
}

double compute_of(const Point& point) {
  return point.flops > 0 ? point.flops : 6 * point.parameters * point.tokens;
}

double response_of(const Law& law, const Point& point, double loss) {
  return law.response ? value_of(point, *law.response) : loss;
}

double shown_value(const Exponent& exponent, double value) {
  return exponent.shown_negative ? -value : value;
}

double predict(const Law& law, const std::vector<double>& coefficients,
               const std::vector<double>& exponents, const Point& point) {
  std::array<double, Law::kMaximumTerms> log_terms;
  std::array<double, Law::kMaximumTerms * Law::kMaximumExponents> derivatives;
  law.log_terms(point, exponents.data(), log_terms.data(), derivatives.data());
  double sum = 0;
  for (size_t k = 0; k < coefficients.size(); ++k) {
    // Through the logarithm: c_k may be huge where phi_k is tiny.
    if (coefficients[k] > 0) sum += std::exp(std::log(coefficients[k]) + log_terms[k]);
  }
  return sum;
}

}  // namespace windtunnel::scaling

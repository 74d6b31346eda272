#include "scaling/optimum.h"

#include <array>
#include <cmath>

namespace windtunnel::scaling {
namespace {

/// A term c N^-p D^-q of a power law, read off the law itself.
struct Power {
  double coefficient = 0;
  double size = 0;
  double tokens = 0;
};

std::array<double, Law::kMaximumTerms> log_terms_at(const Law& law,
                                                    const std::vector<double>& exponents,
                                                    double parameters, double tokens) {
  std::array<double, Law::kMaximumTerms> terms;
  std::array<double, Law::kMaximumTerms * Law::kMaximumExponents> unused;
  law.log_terms({parameters, tokens, 6 * parameters * tokens, tokens}, exponents.data(),
                terms.data(), unused.data());
  return terms;
}

}  // namespace

double Optimum::parameters(double flops) const { return G * std::pow(flops / 6, a); }

std::optional<Optimum> optimum_of(const Law& law, const std::vector<double>& coefficients,
                                  const std::vector<double>& exponents) {
  const bool size_and_tokens =
      law.variables == std::vector<Variable>{Variable::kParameters, Variable::kTokens};
  if (!law.power_law || !size_and_tokens || law.response) return std::nullopt;
  const double e = std::exp(1.0);
  const auto origin = log_terms_at(law, exponents, 1, 1);
  const auto larger = log_terms_at(law, exponents, e, 1);
  const auto longer = log_terms_at(law, exponents, 1, e);
  std::optional<Power> by_size, by_tokens;
  for (size_t k = 0; k < coefficients.size(); ++k) {
    const Power power{coefficients[k] * std::exp(origin[k]), origin[k] - larger[k],
                      origin[k] - longer[k]};
    if (power.size == 0 && power.tokens == 0) continue;
    auto& place = power.tokens == 0 ? by_size : by_tokens;
    if (place || (power.tokens != 0 && power.size != 0)) return std::nullopt;
    place = power;
  }
  if (!by_size || !by_tokens) return std::nullopt;
  const double alpha = by_size->size, beta = by_tokens->tokens;
  return Optimum{
      beta / (alpha + beta),
      std::pow(alpha * by_size->coefficient / (beta * by_tokens->coefficient), 1 / (alpha + beta))};
}

Minimum minimum_of(const LawFit& fit) {
  const Law& law = law_named(fit.law).entry;
  Minimum minimum;
  for (const auto& item : law.coefficients) {
    minimum.coefficients.push_back(fit.parameters.at(item.name));
  }
  for (const auto& item : law.exponents) {
    minimum.exponents.push_back(shown_value(item, fit.parameters.at(item.name)));
  }
  minimum.objective = fit.diagnostics.objective;
  minimum.converged = true;
  return minimum;
}

Minimum minimum_of_draw(const LawFit& fit, const std::vector<double>& draw) {
  const Law& law = law_named(fit.law).entry;
  const size_t coefficients = law.coefficients.size();
  Minimum minimum;
  for (size_t p = 0; p < draw.size(); ++p) {
    if (p < coefficients) {
      minimum.coefficients.push_back(draw[p]);
    } else {
      minimum.exponents.push_back(shown_value(law.exponents[p - coefficients], draw[p]));
    }
  }
  minimum.converged = true;
  return minimum;
}

std::optional<OptimumCurve> optimum_curve(const LawFit& fit) {
  const Law& law = law_named(fit.law).entry;
  const Minimum best = minimum_of(fit);
  const auto found = optimum_of(law, best.coefficients, best.exponents);
  if (!found) return std::nullopt;
  OptimumCurve curve{.a = found->a, .b = 1 - found->a, .G = found->G};
  std::vector<double> drawn;
  for (const auto& draw : fit.draws) {
    const Minimum minimum = minimum_of_draw(fit, draw);
    const auto optimum = optimum_of(law, minimum.coefficients, minimum.exponents);
    if (optimum) drawn.push_back(optimum->a);
  }
  if (!drawn.empty()) {
    const double share = (1 - fit.options.confidence) / 2;
    curve.a_interval = {quantile_of(drawn, share), quantile_of(drawn, 1 - share)};
  }
  return curve;
}

}  // namespace windtunnel::scaling

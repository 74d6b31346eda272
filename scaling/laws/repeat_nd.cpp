// L(N, D, U) = E + A N'^-alpha + B D'^-beta, for D tokens of which only U differ:
//
//   D' = U (1 + R_D (1 - exp(-r_D / R_D)))        r_D = D / U - 1, repetitions
//   N' = V (1 + R_N (1 - exp(-r_N / R_N)))        r_N = N / V - 1, V = min(N, U / 20)
//
// A repeated token is worth less each time it is seen, and parameters beyond what U tokens can feed
// are worth less too. R_D and R_N say after how many repetitions most of the worth is gone.
//
// Source:  Muennighoff et al. 2023, arXiv:2305.16264, eqs. (5) and (6); differs: V is 20 tokens per
//          parameter (Hoffmann et al. 2022) and does not move with the other numbers.
// Choose:  when runs repeat their data; without repetition it is the law of size and tokens, and
//          R_D and R_N are not identified. Runs must reach several epochs at several sizes.
// Cost:    seven parameters.

#include <algorithm>
#include <cmath>

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

constexpr double kTokensPerParameter = 20;

struct Worth {
  double log = 0;
  /// d log / d half-life.
  double slope = 0;
};

/// ln of unique (1 + R (1 - exp(-r / R))) with r = amount / unique - 1.
Worth worth_of(double amount, double unique, double half_life) {
  const double repetitions = std::max(amount / unique - 1, 0.0);
  const double decay = std::exp(-repetitions / half_life);
  const double grown = 1 + half_life * (1 - decay);
  return {std::log(unique * grown), (1 - decay - repetitions / half_life * decay) / grown};
}

void log_terms(const Point& point, const double* exponents, double* terms, double* derivatives) {
  const double alpha = exponents[0], beta = exponents[1];
  const double unique = std::min(point.unique_tokens, point.tokens);
  const Worth n = worth_of(point.parameters,
                           std::min(point.parameters, unique / kTokensPerParameter), exponents[3]);
  const Worth d = worth_of(point.tokens, unique, exponents[2]);
  std::fill(derivatives, derivatives + 12, 0.0);
  terms[0] = 0;
  terms[1] = -alpha * n.log;
  derivatives[4] = -n.log;
  derivatives[7] = -alpha * n.slope;
  terms[2] = -beta * d.log;
  derivatives[9] = -d.log;
  derivatives[10] = -beta * d.slope;
}

const base::Registration<Law> registration{{
    .name = "repeat_nd",
    .summary = "L(N, D, U) = E + A N'^-alpha + B D'^-beta, D' and N' with decay R_D and R_N",
    .source = "Muennighoff et al. 2023, arXiv:2305.16264",
    .entry = {.variables = {Variable::kParameters, Variable::kTokens, Variable::kUniqueTokens},
              .coefficients = {{.name = "E",
                                .help = "loss that remains at infinite size and data",
                                .may_vanish = true},
                               {.name = "A", .help = "scale of what size removes"},
                               {.name = "B", .help = "scale of what data remove"}},
              .exponents = {{.name = "alpha", .help = "how fast loss falls with size"},
                            {.name = "beta", .help = "how fast loss falls with tokens"},
                            {.name = "R_D",
                             .help = "repetitions of data after which most of their worth is gone",
                             .is_scale = true,
                             .minimum = 0.05,
                             .maximum = 1000,
                             .grid_low = 2,
                             .grid_high = 50},
                            {.name = "R_N",
                             .help = "the same for parameters beyond what the data can feed",
                             .is_scale = true,
                             .minimum = 0.05,
                             .maximum = 1000,
                             .grid_low = 2,
                             .grid_high = 50}},
              .power_law = false,
              .log_terms = log_terms},
}};

}  // namespace
}  // namespace windtunnel::scaling

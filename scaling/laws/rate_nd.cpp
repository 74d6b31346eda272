// lr*(N, D) = c N^-a D^b: the best peak learning rate of a size trained on D tokens.
//
// Source:  Li et al. 2025 (Step Law), arXiv:2503.04715, eq. (1), there 1.79 N^-0.713 D^0.307 with N
//          without vocabulary tables. b > 0 there; Bjorck et al. 2024, arXiv:2409.19913, find
//          rates that fall with D at a fixed batch. A b of the other sign ends at its bound here,
//          which the fit reports.
// Choose:  where both sizes and tokens per parameter vary.
// Cost:    three parameters; at least four tuned runs at three sizes and three amounts of tokens.

#include <cmath>

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

void log_terms(const Point& point, const double* exponents, double* terms, double* derivatives) {
  const double log_parameters = std::log(point.parameters);
  const double log_tokens = std::log(point.tokens);
  terms[0] = -exponents[0] * log_parameters + exponents[1] * log_tokens;
  derivatives[0] = -log_parameters;
  derivatives[1] = log_tokens;
}

const base::Registration<Law> registration{{
    .name = "rate_nd",
    .summary = "lr*(N, D) = c N^-a D^b",
    .source = "Li et al. 2025, arXiv:2503.04715",
    .entry = {.variables = {Variable::kParameters, Variable::kTokens},
              .response = Variable::kLearningRate,
              .coefficients = {{.name = "c", .help = "scale of the best rate"}},
              .exponents = {{.name = "a", .help = "how fast the best rate falls with size"},
                            {.name = "b", .help = "how fast it grows with tokens"}},
              .log_terms = log_terms},
}};

}  // namespace
}  // namespace windtunnel::scaling

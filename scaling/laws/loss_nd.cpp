// L(N, D) = E + A N^-alpha + B D^-beta: loss over size and tokens, each on its own.
//
// Source:  Hoffmann et al. 2022, arXiv:2203.15556, eq. (2); fitted as in Besiroglu et al. 2024,
//          arXiv:2404.10102.
// Choose:  when sizes and tokens per parameter both vary. Along one ratio D = k N the two terms
//          are nearly one power law and the exponents are not identified apart.
// Cost:    five parameters; at least six runs at five points, three sizes, two ratios.

#include <cmath>

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

void log_terms(const Point& point, const double* exponents, double* terms, double* derivatives) {
  const double n = std::log(point.parameters), d = std::log(point.tokens);
  terms[0] = 0;
  terms[1] = -exponents[0] * n;
  terms[2] = -exponents[1] * d;
  derivatives[0] = derivatives[1] = derivatives[3] = derivatives[4] = 0;
  derivatives[2] = -n;
  derivatives[5] = -d;
}

const base::Registration<Law> registration{{
    .name = "loss_nd",
    .summary = "L(N, D) = E + A N^-alpha + B D^-beta",
    .source = "Hoffmann et al. 2022, arXiv:2203.15556",
    .entry = {.variables = {Variable::kParameters, Variable::kTokens},
              .coefficients = {{.name = "E",
                                .help = "loss that remains at infinite size and data",
                                .may_vanish = true},
                               {.name = "A", .help = "scale of what size removes"},
                               {.name = "B", .help = "scale of what data remove"}},
              .exponents = {{.name = "alpha", .help = "how fast loss falls with size"},
                            {.name = "beta", .help = "how fast loss falls with tokens"}},
              .log_terms = log_terms},
}};

}  // namespace
}  // namespace windtunnel::scaling

// L(N, M) = E + alpha N^b + beta 6^(b/2) (M N)^b with b < 0 and M = D / N: one exponent for size
// and tokens, so that over-training moves the scale of the reducible loss and never its slope.
//
// Source:  Gadre et al. 2024, arXiv:2403.08540, eq. (4), with C = 6 N D put in.
// Choose:  to forecast over-trained runs from few small ones; M N is D, so it is the law of size
//          and tokens with equal exponents. Where these differ it is biased in M.
// Cost:    four parameters; at least five runs, two of them at another M.

#include <cmath>

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

void log_terms(const Point& point, const double* exponents, double* terms, double* derivatives) {
  const double n = std::log(point.parameters);
  const double d = std::log(6.0) / 2 + std::log(point.tokens);
  terms[0] = 0;
  terms[1] = -exponents[0] * n;
  terms[2] = -exponents[0] * d;
  derivatives[0] = 0;
  derivatives[1] = -n;
  derivatives[2] = -d;
}

const base::Registration<Law> registration{{
    .name = "overtrain_nm",
    .summary = "L(N, M) = E + alpha N^b + beta 6^(b/2) (M N)^b, M = D/N",
    .source = "Gadre et al. 2024, arXiv:2403.08540",
    .entry = {.variables = {Variable::kParameters, Variable::kTokens},
              .coefficients = {{.name = "E",
                                .help = "loss that remains at infinite size and data",
                                .may_vanish = true},
                               {.name = "alpha", .help = "scale of what size removes"},
                               {.name = "beta", .help = "scale of what data remove"}},
              .exponents = {{.name = "b",
                             .help = "how fast loss falls with size at any M; negative",
                             .shown_negative = true}},
              .log_terms = log_terms},
}};

}  // namespace
}  // namespace windtunnel::scaling

// L(C) = E + A C^-alpha: loss along a ladder of compute-matched sizes.
//
// Source:  Hoffmann et al. 2022, arXiv:2203.15556, section 3, with N and D at their optimum for C;
//          differs: fitted to the runs of a ladder directly, not derived from L(N, D).
// Choose:  when every size was trained on the same number of tokens per parameter. E is the part
//          of the loss that compute does not remove; a few budgets rarely identify it, and then
//          alpha depends on it: a log-log slope measures alpha (1 - E/L).
// Cost:    three parameters; at least four runs on three budgets.

#include <cmath>

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

void log_terms(const Point& point, const double* exponents, double* terms, double* derivatives) {
  const double log_flops = std::log(point.flops);
  terms[0] = 0;
  derivatives[0] = 0;
  terms[1] = -exponents[0] * log_flops;
  derivatives[1] = -log_flops;
}

const base::Registration<Law> registration{{
    .name = "loss_c",
    .summary = "L(C) = E + A C^-alpha",
    .source = "Hoffmann et al. 2022, arXiv:2203.15556",
    .entry = {.variables = {Variable::kFlops},
              .coefficients = {{.name = "E",
                                .help = "loss that remains at infinite compute",
                                .may_vanish = true},
                               {.name = "A", .help = "scale of the reducible loss"}},
              .exponents = {{.name = "alpha", .help = "how fast the reducible loss falls"}},
              .log_terms = log_terms},
}};

}  // namespace
}  // namespace windtunnel::scaling

// L(C) = A C^-alpha: a plain power law, a straight line in ln L over ln C.
//
// Source:  Kaplan et al. 2020, arXiv:2001.08361, eq. (1.3).
// Choose:  when the runs do not bend enough to show an offset. It must fail far out, because loss
//          does not fall to 0; over a short range it is the honest law.
// Cost:    two parameters; at least three runs on two budgets.

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

const base::Registration<Law> registration{{
    .name = "power_c",
    .summary = "L(C) = A C^-alpha",
    .source = "Kaplan et al. 2020, arXiv:2001.08361",
    .entry = {.variables = {Variable::kFlops},
              .coefficients = {{.name = "A", .help = "scale of the loss"}},
              .exponents = {{.name = "alpha", .help = "how fast the loss falls"}},
              .log_terms = log_power_term<&Point::flops, -1>},
}};

}  // namespace
}  // namespace windtunnel::scaling

// N*(C) = G C^a: the best size for a budget. Its rows are optima, one for each budget, such as the
// vertices of iso-FLOP parabolas; D*(C) follows as C / (6 N*), with exponent 1 - a.
//
// Source:  Hoffmann et al. 2022, arXiv:2203.15556, eq. (4) and table 2; Kaplan et al. 2020,
//          arXiv:2001.08361.
// Choose:  for optima that are known already. From runs, use windtunnel fit --approach: it finds
//          the optima, fits this law through them and says how far its three ways agree.
// Cost:    two parameters; at least three budgets.

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

const base::Registration<Law> registration{{
    .name = "optimum",
    .summary = "N*(C) = G C^a, D*(C) = C / (6 N*)",
    .source = "Hoffmann et al. 2022, arXiv:2203.15556",
    .entry = {.variables = {Variable::kFlops},
              .response = Variable::kParameters,
              .coefficients = {{.name = "G", .help = "scale of the best size"}},
              .exponents = {{.name = "a", .help = "how fast the best size grows"}},
              .log_terms = log_power_term<&Point::flops, 1>},
}};

}  // namespace
}  // namespace windtunnel::scaling

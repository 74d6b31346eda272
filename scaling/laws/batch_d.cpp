// B*(D) = c D^b: the best tokens per optimizer step for D tokens of training.
//
// Source:  Li et al. 2025 (Step Law), arXiv:2503.04715, eq. (1), there 0.58 D^0.571; Zhang et al.
//          2024, arXiv:2410.21676, find the critical batch to grow with D and not with N.
// Choose:  from sweeps of the batch at several amounts of tokens.
// Cost:    two parameters; at least three amounts of tokens whose batch was tuned.

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

const base::Registration<Law> registration{{
    .name = "batch_d",
    .summary = "B*(D) = c D^b",
    .source = "Li et al. 2025, arXiv:2503.04715",
    .entry = {.variables = {Variable::kTokens},
              .response = Variable::kBatchTokens,
              .coefficients = {{.name = "c", .help = "scale of the best batch"}},
              .exponents = {{.name = "b", .help = "how fast the best batch grows with tokens"}},
              .log_terms = log_power_term<&Point::tokens, 1>},
}};

}  // namespace
}  // namespace windtunnel::scaling

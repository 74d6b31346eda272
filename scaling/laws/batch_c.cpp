// B*(C) = c C^b: the best tokens per optimizer step of a compute budget.
//
// Source:  DeepSeek-AI 2024, arXiv:2401.02954, eq. (1), there 0.2920 C^0.3271 with C counted by
//          non-embedding FLOPs.
// Choose:  where each budget has its best size.
// Cost:    two parameters; at least three budgets whose batch was tuned.

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

const base::Registration<Law> registration{{
    .name = "batch_c",
    .summary = "B*(C) = c C^b",
    .source = "DeepSeek-AI 2024, arXiv:2401.02954",
    .entry = {.variables = {Variable::kFlops},
              .response = Variable::kBatchTokens,
              .coefficients = {{.name = "c", .help = "scale of the best batch"}},
              .exponents = {{.name = "b", .help = "how fast the best batch grows with compute"}},
              .log_terms = log_power_term<&Point::flops, 1>},
}};

}  // namespace
}  // namespace windtunnel::scaling

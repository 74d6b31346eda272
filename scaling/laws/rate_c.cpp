// lr*(C) = c C^-a: the best peak learning rate of a compute budget.
//
// Source:  DeepSeek-AI 2024, arXiv:2401.02954, eq. (1), there 0.3118 C^-0.1250 with C counted by
//          non-embedding FLOPs.
// Choose:  where each budget has its best size; over sizes at one budget it says nothing.
// Cost:    two parameters; at least three budgets whose rate was tuned.

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

const base::Registration<Law> registration{{
    .name = "rate_c",
    .summary = "lr*(C) = c C^-a",
    .source = "DeepSeek-AI 2024, arXiv:2401.02954",
    .entry = {.variables = {Variable::kFlops},
              .response = Variable::kLearningRate,
              .coefficients = {{.name = "c", .help = "scale of the best rate"}},
              .exponents = {{.name = "a", .help = "how fast the best rate falls with compute"}},
              .log_terms = log_power_term<&Point::flops, -1>},
}};

}  // namespace
}  // namespace windtunnel::scaling

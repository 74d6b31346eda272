// lr*(N) = c N^-a: the best peak learning rate of a size, where tokens grow with it.
//
// Source:  the form of Bjorck et al. 2024, arXiv:2409.19913, over N; Kaplan et al. 2020,
//          arXiv:2001.08361, appendix D.6, found a straight line in ln N.
// Choose:  for a ladder along one ratio of tokens to parameters. The ladder's own rule
//          (rate_search.h) is this line with a prior on a, because neighbouring sizes say little
//          about it; this fit has no prior and says what the optima alone identify.
// Cost:    two parameters; at least three sizes whose rate was tuned.

#include "scaling/law.h"

namespace windtunnel::scaling {
namespace {

const base::Registration<Law> registration{{
    .name = "rate_n",
    .summary = "lr*(N) = c N^-a",
    .source = "Bjorck et al. 2024, arXiv:2409.19913",
    .entry = {.variables = {Variable::kParameters},
              .response = Variable::kLearningRate,
              .coefficients = {{.name = "c", .help = "scale of the best rate"}},
              .exponents = {{.name = "a", .help = "how fast the best rate falls with size"}},
              .log_terms = log_power_term<&Point::parameters, -1>},
}};

}  // namespace
}  // namespace windtunnel::scaling

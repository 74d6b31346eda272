#include "model/router_kinds/sigmoid.h"

#include "model/complete_options.h"
#include "model/router_kind.h"

namespace windtunnel::model {
namespace {

const base::Registration<RouterKind> registration{{
    .name = "sigmoid",
    .summary = "top K of independent affinities plus a balancing bias that only selects; weights "
               "are the affinities of the selected, made to sum to one",
    .source = "DeepSeek-AI 2024, arXiv:2412.19437; Wang et al. 2024, arXiv:2408.15664",
    .options = base::schema_of<SigmoidRouterOptions>(),
    .entry = {.complete = complete_options<SigmoidRouterOptions>},
}};

}  // namespace
}  // namespace windtunnel::model

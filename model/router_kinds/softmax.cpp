#include "model/router_kinds/softmax.h"

#include "model/complete_options.h"
#include "model/router_kind.h"

namespace windtunnel::model {
namespace {

const base::Registration<RouterKind> registration{{
    .name = "softmax",
    .summary = "top K of a softmax over experts; weights are its values, made to sum to one",
    .source = "Shazeer et al. 2017, arXiv:1701.06538",
    .options = base::schema_of<SoftmaxRouterOptions>(),
    .entry = {.complete = complete_options<SoftmaxRouterOptions>},
}};

}  // namespace
}  // namespace windtunnel::model

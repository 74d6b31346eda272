// p = softmax(z); the K largest are selected; weights = p over the sum of the selected p.
//
// Source: Shazeer et al. 2017, arXiv:1701.06538, without noise; weights made to sum to one as in
// Mixtral (Jiang et al. 2024, arXiv:2401.04088). The usual choice; balance rests on the auxiliary
// loss alone.

#include "model/router_kinds/softmax.h"

#include "kernels/top_k_routing.h"
#include "model/router.h"
#include "model/router_kind.h"

namespace windtunnel::model {
namespace {

class SoftmaxRouter : public Router {
 public:
  explicit SoftmaxRouter(const SoftmaxRouterOptions& options) : options_(options) {}

  Routing route(const torch::Tensor& logits_NE, int64_t num_active) override {
    const auto losses = kernels::RoutingLosses{options_.load_balance, options_.z_loss};
    auto top = kernels::top_k_routing(logits_NE, {}, num_active, kernels::RoutingScores::kSoftmax,
                                      is_training() ? std::optional(losses) : std::nullopt);
    return {top.experts_NK, top.weights_NK, top.load_E, top.loss, top.sums_2};
  }

 private:
  SoftmaxRouterOptions options_;
};

const base::Registration<RouterFactory> registration{{
    .name = "softmax",
    .summary = "see the router kind",
    .entry = {.make = [](const base::Json& router, int64_t) -> std::shared_ptr<Router> {
      return std::make_shared<SoftmaxRouter>(router_options<SoftmaxRouterOptions>(router));
    }},
}};

}  // namespace
}  // namespace windtunnel::model

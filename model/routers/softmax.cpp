// p = softmax(z); the K largest are selected; weights = p over the sum of the selected p.
//
// Source: Shazeer et al. 2017, arXiv:1701.06538, without noise; weights made to sum to one as in
// Mixtral (Jiang et al. 2024, arXiv:2401.04088). The usual choice; balance rests on the auxiliary
// loss alone.

#include "model/router_kinds/softmax.h"

#include "kernels/expert_feed_forward.h"
#include "model/router.h"
#include "model/router_kind.h"

namespace windtunnel::model {
namespace {

class SoftmaxRouter : public Router {
 public:
  explicit SoftmaxRouter(const SoftmaxRouterOptions& options) : options_(options) {}

  Routing route(const torch::Tensor& logits_NE, int64_t num_active) override {
    const auto probabilities_NE = torch::softmax(logits_NE, -1);
    const auto [top_NK, experts_NK] = probabilities_NE.topk(num_active, -1);
    Routing routing{.experts_NK = experts_NK,
                    .weights_NK = top_NK / top_NK.sum(-1, /*keepdim=*/true),
                    .load_E = kernels::expert_load(experts_NK, logits_NE.size(1))};
    if (is_training()) {
      routing.auxiliary_loss =
          load_balance_loss(probabilities_NE, routing.load_E) * options_.load_balance +
          z_loss(logits_NE) * options_.z_loss;
    }
    return routing;
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

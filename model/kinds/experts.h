#pragma once
// Options of 'E', a layer of experts of which each token visits a few. Computation:
// model/layers/experts.cpp; how tokens choose: model/routers/.

#include "base/config.h"
#include "model/model_config.h"
#include "model/router_kind.h"

namespace windtunnel::model {

/// Hidden units a token visits over the width, where nothing else is said: a gated layer of 8/3 has
/// the parameters of a plain one of 4.
inline constexpr double kDefaultExpansion = 8.0 / 3.0;

struct ExpertsOptions {
  int64_t num_experts = 8;
  int64_t num_active = 2;
  double expansion = kDefaultExpansion;
  int64_t hidden = 0;
  /// {"kind": "softmax", "softmax": {...}}: options lie under the kind's own name, so that a change
  /// of kind never inherits another's numbers.
  base::Json router = {{"kind", "softmax"}};

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("num_experts", self.num_experts,
          {.help = "experts in the layer, E",
           .unit = "experts",
           .source = "Shazeer et al. 2017, arXiv:1701.06538",
           .minimum = 1,
           .maximum = 1023});
    visit("num_active", self.num_active,
          {.help = "experts a token visits, K",
           .unit = "experts",
           .source = "Shazeer et al. 2017, arXiv:1701.06538",
           .minimum = 1,
           .maximum = 64});
    visit("expansion", self.expansion,
          {.help = "hidden units of the K visited experts together over the width; unused where "
                   "hidden is given",
           .source = "8/3: Shazeer 2020, arXiv:2002.05202",
           .exclusive_minimum = 0,
           .maximum = 64});
    visit("hidden", self.hidden,
          {.help = "hidden units of one expert; 0: from expansion",
           .unit = "hidden units",
           .minimum = 0,
           .maximum = 1 << 20});
    visit("router", self.router,
          {.help = "how a token chooses its experts", .schema = routers_schema()});
  }
};

int64_t expert_hidden(const ExpertsOptions& options, const ModelConfig& model);

}  // namespace windtunnel::model

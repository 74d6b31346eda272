#pragma once
// Options of the sigmoid router. Computation: model/routers/sigmoid.cpp.

#include "base/config.h"

namespace windtunnel::model {

struct SigmoidRouterOptions {
  double load_balance = 0.003;
  double z_loss = 7.5e-4;
  double bias_step = 1e-3;
  double bias_ema = 0.9;
  double bias_clamp = 0.25;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("load_balance", self.load_balance,
          {.help = "weight of the load-balance loss",
           .source = "Fedus et al. 2021, arXiv:2101.03961",
           .minimum = 0,
           .maximum = 10});
    visit("z_loss", self.z_loss,
          {.help = "weight of the squared log-sum of the exponentials of the router's logits",
           .source = "Zoph et al. 2022, arXiv:2202.08906",
           .minimum = 0,
           .maximum = 10});
    visit("bias_step", self.bias_step,
          {.help = "how far a selection bias moves per step at a relative load error of one; 0: no "
                   "bias",
           .source = "Wang et al. 2024, arXiv:2408.15664",
           .minimum = 0,
           .maximum = 1});
    visit("bias_ema", self.bias_ema,
          {.help = "decay per step of the average load that drives the bias",
           .minimum = 0,
           .exclusive_maximum = 1});
    visit("bias_clamp", self.bias_clamp,
          {.help = "largest size of a bias, up or down", .exclusive_minimum = 0, .maximum = 10});
  }
};

}  // namespace windtunnel::model

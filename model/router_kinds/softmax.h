#pragma once
// Options of the softmax router. Computation: model/routers/softmax.cpp.

#include "base/config.h"

namespace windtunnel::model {

struct SoftmaxRouterOptions {
  double load_balance = 0.0085;
  double z_loss = 7.5e-4;

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
  }
};

}  // namespace windtunnel::model

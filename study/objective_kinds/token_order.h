#pragma once
// Options of token-order prediction. Computation: trainer/objectives/token_order.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct TokenOrderOptions {
  double weight = 0;
  int64_t window = 32;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("weight", self.weight,
          {.help = "of the ranking loss beside the cross-entropy; 0: off",
           .source = "Zuhri et al. 2025, arXiv:2508.19228",
           .minimum = 0,
           .maximum = 100});
    visit("window", self.window,
          {.help = "upcoming tokens that are ranked by how soon they come",
           .unit = "tokens",
           .source = "Zuhri et al. 2025, arXiv:2508.19228",
           .minimum = 1});
  }
};

}  // namespace windtunnel::study

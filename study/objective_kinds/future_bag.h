#pragma once
// Options of the future-bag summary. Computation: trainer/objectives/future_bag.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct FutureBagOptions {
  double weight = 0;
  int64_t window = 16;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("weight", self.weight,
          {.help = "of the bag's loss beside the cross-entropy; 0: off",
           .source = "Mahajan et al. 2025, arXiv:2510.14751",
           .minimum = 0,
           .maximum = 1e4});
    visit("window", self.window,
          {.help = "upcoming tokens in the bag", .unit = "tokens", .minimum = 1});
  }
};

}  // namespace windtunnel::study

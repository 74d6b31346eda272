#pragma once
// Options of the number-token loss. Computation: trainer/objectives/number_tokens.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct NumberTokensOptions {
  double weight = 0;
  std::string distance = "wasserstein";

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("weight", self.weight,
          {.help = "of the loss on the values of number tokens beside the cross-entropy; 0: off",
           .source = "Zausinger et al. 2025, arXiv:2411.02083 (0.3)",
           .minimum = 0,
           .maximum = 100});
    visit("distance", self.distance,
          {.help = "wasserstein: expected distance of the value; squared: squared distance of the "
                   "expected value",
           .source = "Zausinger et al. 2025, arXiv:2411.02083",
           .choices = {"wasserstein", "squared"}});
  }
};

}  // namespace windtunnel::study

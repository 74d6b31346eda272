#pragma once
// Options of future-hidden prediction. Computation: trainer/objectives/future_hidden.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct FutureHiddenOptions {
  double weight = 0;
  int64_t ahead = 1;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("weight", self.weight,
          {.help = "of the prediction error beside the cross-entropy; 0: off",
           .source = "after Teoh et al. 2025, arXiv:2511.05963",
           .minimum = 0,
           .maximum = 100});
    visit("ahead", self.ahead,
          {.help = "how far ahead the predicted hidden state is", .unit = "tokens", .minimum = 1});
  }
};

}  // namespace windtunnel::study

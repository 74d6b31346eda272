#pragma once
// Options of multi-token prediction. Computation: trainer/objectives/multi_token.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct MultiTokenOptions {
  int64_t heads = 0;
  double weight = 0.3;
  double ramp_start = 0;
  double ramp_end = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("heads", self.heads,
          {.help =
               "heads beside the model's own; head i predicts the token i + 1 places ahead; 0: off",
           .unit = "heads",
           .source = "Gloeckle et al. 2024, arXiv:2404.19737",
           .minimum = 0,
           .maximum = 64});
    visit("weight", self.weight,
          {.help = "of the mean loss of the heads beside the cross-entropy, after the ramp",
           .source = "DeepSeek-AI 2024, arXiv:2412.19437",
           .exclusive_minimum = 0,
           .maximum = 100});
    visit("ramp_start", self.ramp_start,
          {.help = "progress at which the weight begins to rise from 0",
           .unit = "share of the budget",
           .minimum = 0,
           .maximum = 1});
    visit("ramp_end", self.ramp_end,
          {.help = "progress at which the weight has its full size; at most ramp_start: no ramp, "
                   "full from ramp_start on",
           .unit = "share of the budget",
           .minimum = 0,
           .maximum = 1});
  }
};

}  // namespace windtunnel::study

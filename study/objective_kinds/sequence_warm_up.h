#pragma once
// Options of short-to-long sequence warm-up. Computation: trainer/objectives/sequence_warm_up.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct SequenceWarmUpOptions {
  double start_fraction = 1;
  double share = 0.3;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("start_fraction", self.start_fraction,
          {.help = "context of the first steps over model.context_tokens, which must be a multiple "
                   "of it; 1: off",
           .unit = "share of the context",
           .source = "Li et al. 2021, arXiv:2108.06084",
           .exclusive_minimum = 0,
           .maximum = 1});
    visit("share", self.share,
          {.help = "part of the budget over which the context grows to its full length",
           .unit = "share of the budget",
           .exclusive_minimum = 0,
           .maximum = 1});
  }
};

}  // namespace windtunnel::study

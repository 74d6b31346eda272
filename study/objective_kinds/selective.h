#pragma once
// Options of online selective cross-entropy. Computation: trainer/objectives/selective.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct SelectiveOptions {
  double keep = 1;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("keep", self.keep,
          {.help =
               "share of a step's tokens, those with the largest loss, that is trained on; 1: off",
           .unit = "share of tokens",
           .source = "after Lin et al. 2024, arXiv:2404.07965, without its reference model",
           .exclusive_minimum = 0,
           .maximum = 1});
  }
};

}  // namespace windtunnel::study

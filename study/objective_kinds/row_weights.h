#pragma once
// Options of row reweighting. Computation: trainer/objectives/row_weights.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct RowWeightsOptions {
  double strength = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("strength", self.strength,
          {.help = "a row counts as exp(strength x its loss above the step's mean); above 0 hard "
                   "rows count more, below 0 easy ones; 0: off",
           .unit = "per nat",
           .source = "Li et al. 2021, arXiv:2007.01162",
           .minimum = -100,
           .maximum = 100});
  }
};

}  // namespace windtunnel::study

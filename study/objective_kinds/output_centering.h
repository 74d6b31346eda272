#pragma once
// Options of output-embedding centring. Computation: trainer/objectives/output_centering.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct OutputCenteringOptions {
  std::string kind = "none";
  double weight = 1e-4;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kind", self.kind,
          {.help = "center: after each step the mean row of the head is subtracted from all; loss: "
                   "its squared length is a loss; none: off",
           .source = "Stollenwerk et al. 2026, arXiv:2601.02031 (mu-centering and mu-loss)",
           .choices = {"none", "center", "loss"}});
    visit("weight", self.weight,
          {.help = "of the loss, for kind loss",
           .source = "Stollenwerk et al. 2026, arXiv:2601.02031",
           .exclusive_minimum = 0,
           .maximum = 1e4});
  }
};

}  // namespace windtunnel::study

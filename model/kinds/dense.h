#pragma once
// Options of 'D', the dense gated feed-forward layer. Computation: model/layers/dense.cpp.

#include "base/config.h"
#include "model/model_config.h"

namespace windtunnel::model {

struct DenseOptions {
  int64_t hidden = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("hidden", self.hidden,
          {.help = "hidden units; 0: as many as a token visits in an expert layer of the same "
                   "model, else 8/3 of the width",
           .unit = "hidden units",
           .source = "8/3: Shazeer 2020, arXiv:2002.05202",
           .minimum = 0,
           .maximum = 1 << 20});
  }
};

int64_t dense_hidden(const DenseOptions& options, const ModelConfig& model);

/// The nearest multiple of 8 to width * expansion / parts, at least 8: whole vectors on every
/// device.
int64_t derived_hidden(int64_t width, double expansion, int64_t parts);

}  // namespace windtunnel::model

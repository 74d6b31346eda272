#pragma once
// Options of byte-weighted cross-entropy. Computation: trainer/objectives/byte_weights.cpp.

#include "base/config.h"

namespace windtunnel::study {

struct ByteWeightsOptions {
  double power = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("power", self.power,
          {.help = "a token's loss counts as its bytes to this power; above 0 tokens without bytes "
                   "(special ones) do not count; 0: off",
           .minimum = 0,
           .maximum = 4});
  }
};

}  // namespace windtunnel::study

#pragma once
// Noise on activations in training: `train.embedding_noise`. Computation:
// trainer/embedding_noise.h.

#include "base/config.h"

namespace windtunnel::study {

struct EmbeddingNoiseConfig {
  std::string site = "none";
  double scale = 5;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("site", self.site,
          {.help = "embedding: after the lookup; normalized: after the embedding's norm; hidden: "
                   "before the head; none: off",
           .choices = {"none", "embedding", "normalized", "hidden"}});
    visit("scale", self.scale,
          {.help = "each value moves by a uniform draw of at most this over sqrt(context x width)",
           .source = "Jain et al. 2023, arXiv:2310.05914 (alpha)",
           .exclusive_minimum = 0,
           .maximum = 1e4});
  }
};

}  // namespace windtunnel::study

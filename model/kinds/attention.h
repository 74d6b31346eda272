#pragma once
// Options of '*', causal self-attention with grouped heads, rotary positions and normalised queries
// and keys. Computation: model/layers/attention.cpp.

#include "base/config.h"
#include "model/layer_kind.h"
#include "model/model_config.h"

namespace windtunnel::model {

struct AttentionOptions {
  int64_t head_size = 0;
  int64_t kv_heads = 1;
  std::string windows = "L";
  double rope_base = 10000;
  /// Normalised queries and keys have length sqrt(head_size), so with the usual 1/sqrt(head_size)
  /// the largest logit is sqrt(head_size): a head of 12 could never put more than a few times the
  /// average weight on one key. Stating the largest logit instead makes it the same at every size;
  /// 12 is near the sqrt(128) of common large models.
  double initial_logit_scale = 12;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("head_size", self.head_size,
          {.help = "width of one head, even; 0: two heads, or one per 128 of width",
           .minimum = 0,
           .maximum = 1024});
    visit("kv_heads", self.kv_heads,
          {.help = "heads of keys and values, shared by groups of query heads",
           .source = "Ainslie et al. 2023, arXiv:2305.13245",
           .minimum = 1,
           .maximum = 1024});
    visit("windows", self.windows,
          {.help = "S (keys of the last half context) and L (all keys), tiled over the attention "
                   "layers; the last one is always L"});
    visit("rope_base", self.rope_base,
          {.help = "base of the rotary wavelengths",
           .source = "Su et al. 2021, arXiv:2104.09864",
           .exclusive_minimum = 1,
           .maximum = 1e9});
    visit("initial_logit_scale", self.initial_logit_scale,
          {.help = "largest attention logit at the start, where a query and a key are parallel; a "
                   "learned gain per layer multiplies it; 0: the square root of head_size",
           .minimum = 0,
           .maximum = 1000});
  }
};

/// What the options come to in a model of some width. With head_size 0 the largest number of heads
/// up to max(2, width / 128) is taken that makes heads of an even width.
struct AttentionShape {
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  /// What gain 1 multiplies the product of a normalised query and key with.
  double logit_scale_per_product = 0;
};
AttentionShape attention_shape(const AttentionOptions& options, const ModelConfig& model);

/// Keys the attention layer at `place` sees, its own token included.
int64_t attention_window(const AttentionOptions& options, int64_t context_tokens,
                         const LayerPlace& place);

}  // namespace windtunnel::model

#pragma once
// Options of '*', causal self-attention with grouped heads, rotary positions and normalised queries
// and keys. Computation: model/layers/attention.cpp.

#include "base/config.h"
#include "model/layer_kind.h"
#include "model/model_config.h"

namespace windtunnel::model {

/// Values of later attention layers mixed with those of the first, v_1:
/// v = first v_1 + own v_l. Numbered from 0 among the attention layers.
struct ValueMixOptions {
  std::string kind = "none";
  double first = 0.75;
  double own = 0.25;
  int64_t from_layer = 1;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kind", self.kind,
          {.help = "fixed: the weights below; learned: they are where two learned weights start; "
                   "normalized: the same, kept at a sum of one by a softmax; residual: own 1 and a "
                   "learned weight of the first that starts at 0",
           .source = "Zhou et al. 2024, arXiv:2410.17897",
           .choices = {"none", "fixed", "learned", "normalized", "residual"}});
    visit("first", self.first,
          {.help = "weight of the first layer's values; unused by none and residual",
           .minimum = -10,
           .maximum = 10});
    visit("own", self.own,
          {.help = "weight of the layer's own values; unused by none and residual",
           .minimum = -10,
           .maximum = 10});
    visit("from_layer", self.from_layer,
          {.help = "first attention layer, counted from 0, that mixes; 0 has nothing to mix with",
           .unit = "place among attention layers",
           .minimum = 0,
           .maximum = 1023});
  }
};

/// A factor for the output of each head, computed from the layer's input.
struct AttentionGateOptions {
  std::string kind = "none";
  double initial = 0.98;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kind", self.kind,
          {.help = "sigmoid: in (0, 1), starts at initial; centered: twice a sigmoid, starts at 1 "
                   "and may amplify",
           .source = "Qiu et al. 2025, arXiv:2505.06708",
           .choices = {"none", "sigmoid", "centered"}});
    visit("initial", self.initial,
          {.help = "value of the sigmoid gate at the start",
           .exclusive_minimum = 0,
           .exclusive_maximum = 1});
  }
};

struct AttentionOptions {
  int64_t head_size = 0;
  int64_t kv_heads = 1;
  std::string windows = "L";
  int64_t short_window = 0;
  double rope_base = 10000;
  /// Normalised queries and keys have length sqrt(head_size), so with the usual 1/sqrt(head_size)
  /// the largest logit is sqrt(head_size): a head of 12 could never put more than a few times the
  /// average weight on one key. Stating the largest logit instead makes it the same at every size;
  /// 12 is near the sqrt(128) of common large models.
  double initial_logit_scale = 12;
  ValueMixOptions value_mix;
  bool exclusive = false;
  AttentionGateOptions gate;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("head_size", self.head_size,
          {.help = "width of one head, even; 0: two heads, or one per 128 of width",
           .unit = "values",
           .minimum = 0,
           .maximum = 1024});
    visit("kv_heads", self.kv_heads,
          {.help = "heads of keys and values, shared by groups of query heads",
           .unit = "heads",
           .source = "Ainslie et al. 2023, arXiv:2305.13245",
           .minimum = 1,
           .maximum = 1024});
    visit("windows", self.windows,
          {.help = "S (keys of a short window) and L (all keys), tiled over the attention layers, "
                   "e.g. SSSL; the last layer is always L",
           .source = "Gemma Team 2024, arXiv:2408.00118"});
    visit("short_window", self.short_window,
          {.help = "keys of a layer with an S, its own token included; 0: half the context",
           .unit = "tokens",
           .minimum = 0,
           .maximum = 1 << 20});
    visit("rope_base", self.rope_base,
          {.help = "base of the rotary wavelengths",
           .source = "Su et al. 2021, arXiv:2104.09864",
           .exclusive_minimum = 1,
           .maximum = 1e9});
    visit("initial_logit_scale", self.initial_logit_scale,
          {.help = "largest attention logit at the start, where a query and a key are parallel; a "
                   "learned gain per layer multiplies it; 0: the square root of head_size",
           .source = "Henry et al. 2020, arXiv:2010.04245",
           .minimum = 0,
           .maximum = 1000});
    visit("value_mix", self.value_mix, {.help = "values of the first layer mixed into later ones"});
    visit("exclusive", self.exclusive,
          {.help = "take the direction of the token's own value out of each head's output",
           .source = "Zhai 2026, arXiv:2603.09078"});
    visit("gate", self.gate, {.help = "a factor for the output of each head"});
  }
};

/// Whether the layer at `place` mixes values.
bool mixes_values(const AttentionOptions& options, const LayerPlace& place);

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

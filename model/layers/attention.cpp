// x + out(softmax(q k') v) with q, k, v = projections of rms_norm(x), rotary positions, then q and
// k divided by their root mean square, q times a learned gain.
//
// B rows, T tokens, D width, F features of queries, keys and values together.
// Source: Vaswani et al. 2017, arXiv:1706.03762; positions, normalised queries and keys and the
// initial size of the logits: kernels/rotary_norm.h and model/kinds/attention.h.

#include "model/kinds/attention.h"

#include "kernels/causal_attention.h"
#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary_norm.h"
#include "model/layer.h"
#include "model/layer_kind.h"

namespace windtunnel::model {
namespace {

class Attention : public Layer {
 public:
  Attention(const ModelConfig& model, const LayerPlace& place, const WeightSource& weights) {
    const auto options = layer_options<AttentionOptions>(model, '*');
    const AttentionShape shape = attention_shape(options, model);
    heads_ = {shape.query_heads, shape.kv_heads, shape.head_size};
    scale_ = shape.logit_scale_per_product;
    window_ = attention_window(options, model.context_tokens, place);
    table_ = kernels::rotary_table(model.context_tokens, shape.head_size, options.rope_base);
    const int64_t width = model.width;
    const int64_t queries = shape.query_heads * shape.head_size;
    const int64_t keys = shape.kv_heads * shape.head_size;
    const auto matrix = [&](const char* name, int64_t outputs, int64_t inputs) {
      return add_parameter(name, ParameterRole::kMatrix,
                           weights.fan_in_normal(name, {outputs, inputs}, inputs));
    };
    query_ = matrix("query", queries, width);
    key_ = matrix("key", keys, width);
    value_ = matrix("value", keys, width);
    out_ = matrix("out", width, queries);
    gain_ = add_parameter("query_gain", ParameterRole::kScalar, torch::ones({1}));
  }

  torch::Tensor forward(const torch::Tensor& residual_BTD, ForwardPass&) override {
    place_table(residual_BTD);
    const auto qkv_BTF = kernels::linear(kernels::rms_norm(residual_BTD), {query_, key_, value_});
    const auto turned_BTF = kernels::rotary_norm(qkv_BTF, gain_, placed_, heads_, scale_);
    const auto mixed_BTF = kernels::causal_attention(turned_BTF, heads_, window_);
    return kernels::linear_add(residual_BTD, mixed_BTF, out_);
  }

 private:
  /// The table follows the residual's device and type; made once in double, so no bits are lost.
  void place_table(const torch::Tensor& residual) {
    const auto type = residual.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat32;
    if (placed_.cos.defined() && placed_.cos.device() == residual.device() &&
        placed_.cos.scalar_type() == type) {
      return;
    }
    placed_ = {table_.cos.to(residual.device(), type), table_.sin.to(residual.device(), type)};
  }

  kernels::HeadLayout heads_;
  double scale_ = 1;
  int64_t window_ = 0;
  kernels::RotaryTable table_, placed_;
  torch::Tensor query_, key_, value_, out_, gain_;
};

const base::Registration<LayerFactory> registration{{
    .name = "attention",
    .summary = "see the layer kind",
    .entry = {.make = [](const ModelConfig& model, const LayerPlace& place,
                         const WeightSource& weights) -> std::shared_ptr<Layer> {
      return std::make_shared<Attention>(model, place, weights);
    }},
}};

}  // namespace
}  // namespace windtunnel::model

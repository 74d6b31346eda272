// x + out(heads), heads = gate * exclusive(softmax(q k') v), with q, k, v = projections of
// h = rms_norm(x); rotary positions, then q and k divided by their root mean square, q times a
// learned gain. Options that are off cost nothing.
//
//   values     v <- first v_1 + own v_l, v_1 those of the first attention layer
//   exclusive  y <- y - (y . u) u, u the direction of the token's own v
//   gate       y <- sigmoid(w_h h + b_h) y for each head, or twice that
//
// B rows, T tokens, D width, F features of queries, keys and values together, V those of the
// values, H query heads.
// Source: Vaswani et al. 2017, arXiv:1706.03762; positions, normalised queries and keys and the
// initial size of the logits: kernels/rotary_norm.h and model/kinds/attention.h; exclusive heads
// and gate: kernels/head_output.h.

#include "model/kinds/attention.h"

#include <cmath>

#include "kernels/causal_attention.h"
#include "kernels/head_output.h"
#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary_norm.h"
#include "model/depth_scaling.h"
#include "model/layer.h"
#include "model/layer_kind.h"

namespace windtunnel::model {
namespace {

using torch::Tensor;

class Attention : public Layer {
 public:
  Attention(const ModelConfig& model, const LayerPlace& place, const WeightSource& weights)
      : options_(layer_options<AttentionOptions>(model, '*')),
        scales_(depth_scales(model.depth_scaling, place.ordinal + 1)),
        is_first_(place.ordinal == 0),
        mixes_(mixes_values(options_, place)) {
    const AttentionShape shape = attention_shape(options_, model);
    heads_ = {shape.query_heads, shape.kv_heads, shape.head_size};
    scale_ = shape.logit_scale_per_product;
    window_ = attention_window(options_, model.context_tokens, place);
    table_ = kernels::rotary_table(model.context_tokens, shape.head_size, options_.rope_base);
    const int64_t width = model.width;
    const int64_t queries = shape.query_heads * shape.head_size;
    values_ = shape.kv_heads * shape.head_size;
    const auto matrix = [&](const char* name, int64_t outputs, int64_t inputs) {
      return add_parameter(name, ParameterRole::kMatrix,
                           weights.draw(name, {outputs, inputs}, inputs));
    };
    query_ = matrix("query", queries, width);
    key_ = matrix("key", values_, width);
    value_ = matrix("value", values_, width);
    out_ = matrix("out", width, queries);
    gain_ = add_parameter("query_gain", ParameterRole::kScalar, torch::ones({1}));
    add_gate(width);
    if (mixes_) add_value_mix();
  }

  Tensor forward(const Tensor& residual_BTD, ForwardPass& pass) override {
    place_table(residual_BTD);
    const auto x_BTD = kernels::rms_norm(residual_BTD);
    const auto merged_BTF = with_values(kernels::linear(x_BTD, {query_, key_, value_}), pass);
    const auto turned_BTF = kernels::rotary_norm(merged_BTF, gain_, placed_, heads_, scale_);
    auto heads_BTE = kernels::causal_attention(turned_BTF, heads_, window_);
    heads_BTE = kernels::head_output(heads_BTE, values_of(turned_BTF), gates(x_BTD), heads_,
                                     options_.exclusive);
    return kernels::linear_add(residual_BTD, scaled(heads_BTE, scales_.output), out_);
  }

  /// Mixing weights as they stand and, for learned ones, what flows back through the mixed-in first
  /// values: the root mean square of their gradient in the last backward pass.
  std::vector<std::pair<std::string, Tensor>> figures() const override {
    if (!mixes_ || options_.value_mix.kind == "fixed") return {};
    const torch::NoGradGuard no_grad;
    const auto weights = mix_weights();
    std::vector<std::pair<std::string, Tensor>> all = {{"value_mix.first", weights.first},
                                                       {"value_mix.own", weights.second}};
    if (mix_.grad().defined()) all.emplace_back("value_mix.gradient_norm", mix_.grad().norm());
    if (first_gradient_->defined())
      all.emplace_back("value_mix.first_gradient_rms", *first_gradient_);
    return all;
  }

 private:
  void add_gate(int64_t width) {
    if (options_.gate.kind == "none") return;
    const double start = options_.gate.kind == "centered" ? 0.5 : options_.gate.initial;
    gate_ = add_parameter("gate", ParameterRole::kGate, torch::zeros({heads_.query_heads, width}));
    gate_bias_ = add_parameter("gate_bias", ParameterRole::kScalar,
                               torch::full({heads_.query_heads}, std::log(start / (1 - start))));
  }

  void add_value_mix() {
    const auto& mix = options_.value_mix;
    if (mix.kind == "fixed") return;
    Tensor start = torch::zeros({1});
    if (mix.kind == "learned") start = torch::tensor({mix.first, mix.own}, torch::kFloat32);
    if (mix.kind == "normalized") {
      start = torch::tensor({std::log(mix.first), std::log(mix.own)}, torch::kFloat32);
    }
    mix_ = add_parameter("value_mix", ParameterRole::kScalar, start);
  }

  /// Weights of the first layer's values and of the own ones, from what is learned.
  std::pair<Tensor, Tensor> mix_weights() const {
    if (options_.value_mix.kind == "residual") return {mix_[0], torch::ones_like(mix_[0])};
    const auto weights = options_.value_mix.kind == "normalized" ? torch::softmax(mix_, 0) : mix_;
    return {weights[0], weights[1]};
  }

  Tensor values_of(const Tensor& merged_BTF) const {
    return merged_BTF.narrow(-1, merged_BTF.size(-1) - values_, values_);
  }

  /// Leaves the first layer's values to the others, and mixes them in there. Values are scaled for
  /// depth first, so that what is mixed has the size it has in the first layer.
  Tensor with_values(const Tensor& merged_BTF, ForwardPass& pass) {
    if (!is_first_ && !mixes_ && scales_.values == 1) return merged_BTF;
    auto values_BTV = scaled(values_of(merged_BTF), scales_.values);
    if (is_first_) pass.first_values_BTV = values_BTV;
    if (mixes_) values_BTV = mixed(values_BTV, pass.first_values_BTV);
    if (!mixes_ && scales_.values == 1) return merged_BTF;
    return torch::cat({merged_BTF.narrow(-1, 0, merged_BTF.size(-1) - values_), values_BTV}, -1);
  }

  Tensor mixed(const Tensor& own_BTV, const Tensor& given_first_BTV) {
    base::check(given_first_BTV.defined(), "the first attention layer left no values to mix");
    if (options_.value_mix.kind == "fixed") {
      return given_first_BTV * options_.value_mix.first + own_BTV * options_.value_mix.own;
    }
    const auto [first, own] = mix_weights();
    const auto first_BTV = given_first_BTV.alias();
    if (is_training() && first_BTV.requires_grad()) {
      first_BTV.register_hook([measured = first_gradient_](const Tensor& gradient) {
        *measured = gradient.detach().to(torch::kFloat32).square().mean().sqrt();
      });
    }
    const auto type = own_BTV.scalar_type();
    return first_BTV * first.to(type) + own_BTV * own.to(type);
  }

  /// Undefined without a gate.
  Tensor gates(const Tensor& x_BTD) const {
    if (options_.gate.kind == "none") return {};
    const auto input_BTD = scaled(x_BTD, scales_.gate);
    const auto logits_BTH =
        kernels::linear(input_BTD, {gate_}) + gate_bias_.to(x_BTD.scalar_type());
    const auto gates_BTH = torch::sigmoid(logits_BTH);
    return options_.gate.kind == "centered" ? gates_BTH * 2 : gates_BTH;
  }

  /// The table follows the residual's device and type; made once in double, so no bits are lost.
  void place_table(const Tensor& residual) {
    const auto type = residual.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat32;
    if (placed_.cos.defined() && placed_.cos.device() == residual.device() &&
        placed_.cos.scalar_type() == type) {
      return;
    }
    placed_ = {table_.cos.to(residual.device(), type), table_.sin.to(residual.device(), type)};
  }

  AttentionOptions options_;
  DepthScales scales_;
  bool is_first_ = false, mixes_ = false;
  kernels::HeadLayout heads_;
  double scale_ = 1;
  int64_t window_ = 0, values_ = 0;
  kernels::RotaryTable table_, placed_;
  Tensor query_, key_, value_, out_, gain_, gate_, gate_bias_, mix_;
  /// Shared with the hooks of a backward pass, which may outlive this layer.
  std::shared_ptr<Tensor> first_gradient_ = std::make_shared<Tensor>();
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

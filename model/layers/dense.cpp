// x + down(silu(gate h) * up h), h = rms_norm(x): the feed-forward layer that every token passes.
//
// B rows, T tokens, D width, H hidden units.
// Source: Shazeer 2020, arXiv:2002.05202 (SwiGLU), without biases.

#include "model/kinds/dense.h"

#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "kernels/swiglu.h"
#include "model/depth_scaling.h"
#include "model/layer.h"
#include "model/layer_kind.h"

namespace windtunnel::model {
namespace {

class Dense : public Layer {
 public:
  Dense(const ModelConfig& model, const LayerPlace& place, const WeightSource& weights)
      : scales_(depth_scales(model.depth_scaling, place.ordinal + 1)) {
    const int64_t width = model.width;
    const int64_t hidden = dense_hidden(layer_options<DenseOptions>(model, 'D'), model);
    const auto matrix = [&](const char* name, int64_t outputs, int64_t inputs) {
      return add_parameter(name, ParameterRole::kMatrix,
                           weights.draw(name, {outputs, inputs}, inputs));
    };
    gate_ = matrix("gate", hidden, width);
    up_ = matrix("up", hidden, width);
    down_ = matrix("down", width, hidden);
  }

  torch::Tensor forward(const torch::Tensor& residual_BTD, ForwardPass&) override {
    const auto x_BTD = scaled(kernels::rms_norm(residual_BTD), scales_.feed_forward);
    const auto hidden_BTH = kernels::swiglu(kernels::linear(x_BTD, {gate_, up_}));
    return kernels::linear_add(residual_BTD, scaled(hidden_BTH, scales_.output), down_);
  }

 private:
  DepthScales scales_;
  torch::Tensor gate_, up_, down_;
};

const base::Registration<LayerFactory> registration{{
    .name = "dense",
    .summary = "see the layer kind",
    .entry = {.make = [](const ModelConfig& model, const LayerPlace& place,
                         const WeightSource& weights) -> std::shared_ptr<Layer> {
      return std::make_shared<Dense>(model, place, weights);
    }},
}};

}  // namespace
}  // namespace windtunnel::model

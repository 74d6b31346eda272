// Muon: momentum whose matrices are orthogonalised, with a second moment per row or column
// (NorMuon) and cautious weight decay.
//
//   m = lerp(m, g, 1 - mu);  u = lerp(g, m, mu)                  (Nesterov)
//   o = polar_express(u)                                         (five steps)
//   s = lerp(s, mean of o^2 along the shorter side, 1 - beta2)
//   o = o / sqrt(s), rescaled so that |o|_F is what it was
//   p = p - eta (o + wd p where o p >= 0),   eta = lr 0.2 sqrt(max(d_in, d_out))
//
// With the constant schedule of weight decay wd is multiplied by the peak's eta instead.
//
// The experts of a layer are one parameter [E, d_out, d_in]. "stacked" orthogonalises them as one
// tall matrix [E d_in, d_out], which is how the fixed-wall study stored its experts: gate and up as
// [E width, hidden], down as [E hidden, width]. Here that matrix is transposed, [d_out, E d_in], of
// which the result is the transpose. "separate" orthogonalises each expert as a matrix of its own.
// eta takes the sizes of a single expert either way.
// Source: Jordan et al. 2024, kellerjordan.github.io/posts/muon; Liu et al. 2025, arXiv:2502.16982
// (the factor 0.2 sqrt(max)); Li et al. 2025, arXiv:2510.05491 (NorMuon); Chen et al. 2025,
// arXiv:2510.12402 (cautious weight decay).
// Choose it for weight matrices; it takes AdamW's rate.
// Cost: one value of state per parameter; 4 m n k + 34 k^3 FLOPs a step, k = min(m, n), on a CPU.
//
// B matrices of one shape, of E stacked experts each (1 for a plain matrix or a separate expert),
// M = d_out, N = d_in.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/error.h"
#include "trainer/optimizer.h"
#include "trainer/polar_express.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

constexpr double kRateScale = 0.2;
constexpr double kTiny = 1e-10;
/// The axes of E, M and N.
constexpr std::array<int64_t, 3> kWhole = {1, 2, 3};

/// Parameters of one shape, updated by the same few operations.
struct Stack {
  std::vector<std::string> names;
  std::vector<Tensor> parameters;
  /// The parameters are views of it.
  Tensor weights_BEMN;
  Tensor momentum_BEMN;
  /// Mean squares along second_moment_axes, which have size 1 here.
  Tensor second_moment;
  std::vector<int64_t> second_moment_axes;
  double rate_scale = 0;

  /// The part of a tensor [B, ...] that belongs to one parameter.
  Tensor part_of(const Tensor& all, size_t index) const {
    const auto count = all.size(0) / static_cast<int64_t>(names.size());
    return all.narrow(0, static_cast<int64_t>(index) * count, count);
  }
};

/// The axes that one second moment averages over: the shorter side of the matrix as a whole, so
/// that there are as many moments as the longer side has rows. Stacked experts count as
/// [E d_in, d_out].
std::vector<int64_t> shorter_side(const at::IntArrayRef& sizes_BEMN, bool stacked) {
  const int64_t experts = sizes_BEMN[1], outputs = sizes_BEMN[2], inputs = sizes_BEMN[3];
  if (!stacked) return {outputs >= inputs ? 3 : 2};
  return experts * inputs >= outputs ? std::vector<int64_t>{2} : std::vector<int64_t>{1, 3};
}

Stack make_stack(const std::vector<model::Parameter>& members, bool stacks_experts) {
  Stack stack;
  const Tensor& first = members.front().tensor;
  base::check(first.dim() == 2 || first.dim() == 3, "Muon's parameters are matrices");
  const bool stacked = first.dim() == 3 && stacks_experts;
  const int64_t experts = stacked ? first.size(0) : 1;
  std::vector<Tensor> values;
  for (const auto& member : members) {
    stack.names.push_back(member.name);
    stack.parameters.push_back(member.tensor);
    values.push_back(member.tensor.detach().view({-1, experts, first.size(-2), first.size(-1)}));
  }
  stack.weights_BEMN = at::cat(values);
  for (size_t i = 0; i < members.size(); ++i) {
    stack.parameters[i].set_data(stack.part_of(stack.weights_BEMN, i).view(first.sizes()));
  }
  stack.momentum_BEMN = at::zeros_like(stack.weights_BEMN);
  stack.second_moment_axes = shorter_side(stack.weights_BEMN.sizes(), stacked);
  stack.second_moment = at::zeros_like(stack.weights_BEMN.sum(stack.second_moment_axes, true));
  stack.rate_scale =
      kRateScale * std::sqrt(static_cast<double>(std::max(first.size(-2), first.size(-1))));
  return stack;
}

/// Experts side by side; a plain matrix as it is.
Tensor as_matrices(const Tensor& x_BEMN) {
  if (x_BEMN.size(1) == 1) return x_BEMN.squeeze(1);
  return x_BEMN.permute({0, 2, 1, 3}).flatten(2);
}

Tensor as_experts(const Tensor& matrices, int64_t experts) {
  return matrices.unflatten(2, {experts, -1}).permute({0, 2, 1, 3});
}

class Muon final : public Optimizer {
 public:
  Muon(const std::vector<model::Parameter>& parameters, const study::OptimizerConfig& config)
      : config_(config) {
    std::map<std::vector<int64_t>, std::vector<model::Parameter>> by_shape;
    for (const auto& parameter : parameters) {
      by_shape[parameter.tensor.sizes().vec()].push_back(parameter);
    }
    const bool stacks_experts = config.muon_experts == "stacked";
    for (const auto& [shape, members] : by_shape) {
      stacks_.push_back(make_stack(members, stacks_experts));
    }
  }

  void step(double learning_rate) override {
    std::vector<Tensor> updates;
    for (Stack& stack : stacks_) updates.push_back(as_matrices(nesterov(stack)));
    updates = orthogonalize(updates);
    for (size_t i = 0; i < stacks_.size(); ++i) {
      Tensor update_BEMN = as_experts(updates[i], stacks_[i].weights_BEMN.size(1));
      normalize(stacks_[i], update_BEMN);
      const double decayed_rate =
          config_.weight_decay_schedule == "constant" ? config_.learning_rate : learning_rate;
      apply(stacks_[i], update_BEMN, learning_rate * stacks_[i].rate_scale,
            decayed_rate * stacks_[i].rate_scale * config_.weight_decay);
    }
  }

  NamedTensors state() const override {
    NamedTensors state;
    for (const Stack& stack : stacks_) {
      for (size_t i = 0; i < stack.names.size(); ++i) {
        state.emplace_back(stack.names[i] + ".momentum", stack.part_of(stack.momentum_BEMN, i));
        state.emplace_back(stack.names[i] + ".second_moment",
                           stack.part_of(stack.second_moment, i));
      }
    }
    return state;
  }

 private:
  Tensor nesterov(Stack& stack) const {
    std::vector<Tensor> gradients;
    for (const Tensor& parameter : stack.parameters) gradients.push_back(parameter.grad());
    const Tensor gradient = at::cat(gradients).view_as(stack.weights_BEMN);
    stack.momentum_BEMN.lerp_(gradient, 1 - config_.muon_momentum);
    return gradient.lerp_(stack.momentum_BEMN, config_.muon_momentum);
  }

  void normalize(Stack& stack, Tensor& update_BEMN) const {
    const Tensor mean_square = update_BEMN.square().mean(stack.second_moment_axes, true);
    stack.second_moment.lerp_(mean_square, 1 - config_.muon_beta2);
    const Tensor inverse_square = stack.second_moment.clamp_min(kTiny).reciprocal_();
    // The Frobenius norms before and after differ only by these weighted sums.
    const Tensor before = mean_square.sum(kWhole, true);
    const Tensor after =
        mean_square.mul(inverse_square).sum(kWhole, true).clamp_min_(kTiny * kTiny);
    update_BEMN.mul_(inverse_square.mul_(before.div(after)).sqrt_());
  }

  /// `decay`: share of a weight that is taken off.
  void apply(Stack& stack, const Tensor& update_BEMN, double rate, double decay) const {
    Tensor& weights = stack.weights_BEMN;
    if (decay > 0) {
      const Tensor agrees = weights.mul(update_BEMN).ge_(0);  // 1 where both pull the same way
      weights.addcmul_(weights, agrees, -decay);
    }
    weights.sub_(update_BEMN, rate);
  }

  study::OptimizerConfig config_;
  std::vector<Stack> stacks_;
};

const base::Registration<OptimizerKind> registration{
    {.name = "muon",
     .summary = "orthogonalised momentum with row-wise second moments and cautious weight decay",
     .source = "Jordan et al. 2024; Li et al. 2025, arXiv:2510.05491",
     .entry = {.make = [](const std::vector<model::Parameter>& parameters,
                          const study::OptimizerConfig& config) -> std::unique_ptr<Optimizer> {
       return std::make_unique<Muon>(parameters, config);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer

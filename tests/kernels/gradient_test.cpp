// Gradients of the references in double against finite differences; the fast versions are held
// against the references in fast_path_test.cpp.

#include <gtest/gtest.h>

#include <functional>

#include "kernels/causal_attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/expert_feed_forward.h"
#include "kernels/head_output.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary_norm.h"
#include "kernels/swiglu.h"
#include "kernels/top_k_routing.h"

namespace windtunnel::kernels {
namespace {

// Central differences of step 1e-5 in double are right to about 1e-9 here.
constexpr double kStep = 1e-5, kTolerance = 1e-7;

torch::Tensor random(at::IntArrayRef sizes) {
  return torch::randn(sizes, torch::TensorOptions(torch::kDouble));
}

/// `operation` of one input; the output is summed with fixed random weights.
void expect_right_gradient(const std::function<torch::Tensor(const torch::Tensor&)>& operation,
                           const torch::Tensor& at) {
  const auto x = at.clone().requires_grad_(true);
  const auto output = operation(x);
  const auto weights = random(output.sizes());
  (output * weights).sum().backward();
  const auto gradient = x.grad().flatten();
  const torch::NoGradGuard no_grad;
  for (int64_t i = 0; i < gradient.size(0); ++i) {
    const auto value = [&](double step) {
      auto moved = at.clone();
      moved.view({-1})[i] += step;
      return (operation(moved) * weights).sum().item<double>();
    };
    const double expected = (value(kStep) - value(-kStep)) / (2 * kStep);
    EXPECT_NEAR(gradient[i].item<double>(), expected, kTolerance) << "entry " << i;
  }
}

TEST(Gradient, RmsNorm) { expect_right_gradient(rms_norm, random({2, 5})); }

TEST(Gradient, SwiGlu) { expect_right_gradient(swiglu, random({3, 6})); }

TEST(Gradient, CrossEntropy) {
  const auto targets = torch::tensor({0, 4, 2}, torch::kInt64);
  expect_right_gradient([&](const torch::Tensor& x) { return cross_entropy(x, targets); },
                        random({3, 5}));
}

TEST(Gradient, RotaryNorm) {
  const HeadLayout heads{2, 1, 4};
  const auto table = rotary_table(3, 4, 50);
  const auto qkv = random({1, 3, heads.features()}), gain = random({1});
  expect_right_gradient(
      [&](const torch::Tensor& x) { return rotary_norm(x, gain, table, heads, 1.7); }, qkv);
  expect_right_gradient(
      [&](const torch::Tensor& x) { return rotary_norm(qkv, x, table, heads, 1.7); }, gain);
}

TEST(Gradient, HeadOutput) {
  const HeadLayout heads{4, 2, 3};
  const auto values = random({2, 3, 6}), gates = random({2, 3, 4});
  const auto y = random({2, 3, 12});
  expect_right_gradient([&](const auto& in) { return head_output(in, values, gates, heads, true); },
                        y);
  expect_right_gradient([&](const auto& in) { return head_output(y, in, gates, heads, true); },
                        values);
  expect_right_gradient([&](const auto& in) { return head_output(y, values, in, heads, true); },
                        gates);
}

TEST(Gradient, CausalAttention) {
  const HeadLayout heads{2, 1, 3};
  expect_right_gradient([&](const torch::Tensor& x) { return causal_attention(x, heads, 3); },
                        random({1, 5, heads.features()}));
}

TEST(Gradient, ExpertFeedForward) {
  const auto experts = torch::tensor({0, 2, 2, 1}, torch::kInt64).view({2, 2});
  const std::vector<torch::Tensor> inputs = {random({2, 3}),    random({3, 2, 3}),
                                             random({3, 2, 3}), random({3, 3, 2}),
                                             random({2, 2}),    random({2, 3})};
  for (size_t i = 0; i < inputs.size(); ++i) {
    expect_right_gradient(
        [&](const torch::Tensor& x) {
          auto in = inputs;
          in[i] = x;
          return expert_feed_forward(in[5], in[0], {in[1], in[2], in[3]}, experts, in[4]);
        },
        inputs[i]);
  }
}

TEST(Gradient, TopKRouting) {
  for (const auto scores : {RoutingScores::kSoftmax, RoutingScores::kSigmoid}) {
    expect_right_gradient(
        [&](const torch::Tensor& x) {
          const auto top = top_k_routing(x, {}, 2, scores, RoutingLosses{0.8, 0.4});
          return top.weights_NK + top.loss;
        },
        random({4, 5}) * 2);
  }
}

}  // namespace
}  // namespace windtunnel::kernels

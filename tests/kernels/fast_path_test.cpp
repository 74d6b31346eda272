// Every hand-written CPU operation against the plain reference, forward and backward, at sizes that
// do not fill a vector.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <functional>

#include "kernels/causal_attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/expert_feed_forward.h"
#include "kernels/head_output.h"
#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary_norm.h"
#include "kernels/swiglu.h"
#include "kernels/top_k_routing.h"

namespace windtunnel::kernels {
namespace {

// Against a double reference: sums of some hundred fp32 terms of size one.
constexpr double kTolerance = 3e-5;

using Tensors = std::vector<torch::Tensor>;
using Operation = std::function<torch::Tensor(const Tensors&)>;

torch::Tensor random(at::IntArrayRef sizes, uint64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return torch::randn(sizes, generator, torch::TensorOptions(torch::kFloat32));
}

/// Output and gradients of all inputs, for a fixed random gradient of the output.
Tensors evaluate(const Operation& operation, const Tensors& inputs, torch::ScalarType type) {
  Tensors leaves;
  for (const auto& input : inputs) {
    leaves.push_back(
        input.is_floating_point() ? input.detach().to(type).clone().requires_grad_(true) : input);
  }
  const auto output = operation(leaves);
  output.backward(random(output.sizes(), 99).to(type));
  Tensors results = {output.detach()};
  for (const auto& leaf : leaves) {
    if (leaf.is_floating_point()) results.push_back(leaf.grad());
  }
  return results;
}

void expect_same(const Operation& fast, const Operation& reference, const Tensors& inputs) {
  const auto found = evaluate(fast, inputs, torch::kFloat32);
  const auto expected = evaluate(reference, inputs, torch::kDouble);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].scalar_type(), torch::kFloat32);
    ASSERT_EQ(found[i].sizes(), expected[i].sizes());
    const double scale = std::max(1.0, expected[i].abs().max().item<double>());
    EXPECT_LT((found[i] - expected[i]).abs().max().item<double>(), kTolerance * scale)
        << (i == 0 ? "output" : "gradient of input ") << i;
  }
}

TEST(FastPath, RmsNorm) {
  for (const int64_t width : {1, 3, 24, 44, 100}) {
    expect_same([](const Tensors& in) { return rms_norm(in[0]); },
                [](const Tensors& in) { return rms_norm_reference(in[0]); },
                {random({2, 7, width}, 1)});
  }
}

TEST(FastPath, RmsNormOfStridedInput) {
  const auto operation = [](auto norm) {
    return [norm](const Tensors& in) { return norm(in[0].transpose(0, 1)); };
  };
  expect_same(operation(rms_norm), operation(rms_norm_reference), {random({5, 9}, 2)});
}

TEST(FastPath, SwiGlu) {
  for (const int64_t hidden : {1, 5, 16, 43}) {
    expect_same([](const Tensors& in) { return swiglu(in[0]); },
                [](const Tensors& in) { return swiglu_reference(in[0]); },
                {random({3, 5, 2 * hidden}, 3) * 3});
  }
}

TEST(FastPath, CrossEntropy) {
  for (const int64_t vocabulary : {1, 7, 64, 517}) {
    const auto targets = torch::randint(0, vocabulary, {3, 5}, torch::kInt64);
    expect_same([&](const Tensors& in) { return cross_entropy(in[0], targets); },
                [&](const Tensors& in) { return cross_entropy_reference(in[0], targets); },
                {random({3, 5, vocabulary}, 4) * 5});
  }
}

TEST(CrossEntropy, SumsToOneAndStandsLargeLogits) {
  const auto logits = random({1, 33}, 5) * 300;
  double total = 0;
  for (int64_t target = 0; target < 33; ++target) {
    const auto nats = cross_entropy(logits, torch::full({1}, target, torch::kInt64));
    EXPECT_TRUE(std::isfinite(nats.item<float>()));
    total += std::exp(-nats.item<double>());
  }
  EXPECT_NEAR(total, 1, 1e-5);
}

TEST(FastPath, RotaryNorm) {
  const HeadLayout layouts[] = {{2, 1, 12}, {3, 3, 22}, {4, 2, 2}};
  for (const auto& heads : layouts) {
    const auto table = rotary_table(11, heads.head_size, 100);
    const RotaryTable narrow = {table.cos.to(torch::kFloat32), table.sin.to(torch::kFloat32)};
    expect_same(
        [&](const Tensors& in) { return rotary_norm(in[0], in[1], narrow, heads, 0.7); },
        [&](const Tensors& in) { return rotary_norm_reference(in[0], in[1], table, heads, 0.7); },
        {random({2, 9, heads.features()}, 6), torch::full({1}, 1.3)});
  }
}

TEST(FastPath, HeadOutput) {
  const HeadLayout layouts[] = {{2, 1, 12}, {3, 3, 22}, {4, 2, 2}, {6, 2, 17}};
  for (const auto& heads : layouts) {
    const Tensors inputs = {random({2, 5, heads.query_heads * heads.head_size}, 11),
                            random({2, 5, heads.kv_heads * heads.head_size}, 12),
                            random({2, 5, heads.query_heads}, 13)};
    for (const bool exclusive : {false, true}) {
      const auto with = [&](auto operation) {
        return [=](const Tensors& in) {
          // Without the projection the values are not read; a sum gives them a gradient of zero.
          return operation(in[0], in[1], in[2], heads, exclusive) + in[1].sum() * 0;
        };
      };
      expect_same(with(head_output), with(head_output_reference), inputs);
      const auto without_gate = [&](auto operation) {
        return [=](const Tensors& in) {
          return operation(in[0], in[1], torch::Tensor(), heads, exclusive) + in[1].sum() * 0;
        };
      };
      expect_same(without_gate(head_output), without_gate(head_output_reference),
                  {inputs[0], inputs[1]});
    }
  }
}

TEST(HeadOutput, ExclusiveHeadsAreOrthogonalToTheOwnValueAndAnotherPassChangesNothing) {
  const HeadLayout heads{4, 2, 10};
  const auto y = random({2, 3, 40}, 14), values = random({2, 3, 20}, 15);
  const auto once = head_output(y, values, {}, heads, true);
  const auto along = (once.view({2, 3, 2, 2, 10}) * values.view({2, 3, 2, 1, 10})).sum(-1);
  EXPECT_LT(along.abs().max().item<float>(), 1e-5);
  EXPECT_LT((head_output(once, values, {}, heads, true) - once).abs().max().item<float>(), 1e-5);
  // A value of zero has no direction to take out.
  const auto kept = head_output(y, torch::zeros_like(values), {}, heads, true);
  EXPECT_TRUE(torch::equal(kept, y));
}

TEST(FastPath, RotaryNormHasAGradientAtGainZero) {
  const HeadLayout heads{2, 1, 4};
  const auto table = rotary_table(5, 4, 100);
  const RotaryTable narrow = {table.cos.to(torch::kFloat32), table.sin.to(torch::kFloat32)};
  expect_same(
      [&](const Tensors& in) { return rotary_norm(in[0], in[1], narrow, heads, 2); },
      [&](const Tensors& in) { return rotary_norm_reference(in[0], in[1], table, heads, 2); },
      {random({1, 5, heads.features()}, 7), torch::zeros({1})});
}

struct AttentionCase {
  HeadLayout heads;
  int64_t tokens, window;
};

class FastAttention : public testing::TestWithParam<AttentionCase> {};

TEST_P(FastAttention, MatchesTheReference) {
  const HeadLayout heads = GetParam().heads;
  const int64_t tokens = GetParam().tokens, window = GetParam().window;
  expect_same([&](const Tensors& in) { return causal_attention(in[0], heads, window); },
              [&](const Tensors& in) { return causal_attention_reference(in[0], heads, window); },
              {random({2, tokens, heads.features()}, 8)});
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, FastAttention,
    testing::Values(AttentionCase{{1, 1, 1}, 1, 1}, AttentionCase{{2, 1, 12}, 16, 16},
                    AttentionCase{{2, 1, 12}, 33, 100}, AttentionCase{{4, 2, 7}, 50, 50},
                    AttentionCase{{2, 2, 18}, 65, 8}, AttentionCase{{6, 2, 33}, 70, 35},
                    AttentionCase{{2, 1, 16}, 40, 1}, AttentionCase{{3, 1, 48}, 129, 64}));

TEST(FastAttention, HugeLogitsStayFinite) {
  const HeadLayout heads{2, 1, 8};
  const auto y = causal_attention(random({1, 40, heads.features()}, 9) * 1000, heads, 40);
  EXPECT_TRUE(y.isfinite().all().item<bool>());
}

struct ExpertsCase {
  int64_t tokens, width, hidden, experts, active;
};

class FastExperts : public testing::TestWithParam<ExpertsCase> {};

TEST_P(FastExperts, MatchesTheReference) {
  const auto& [N, D, H, E, K] = GetParam();
  const auto chosen = std::get<1>(random({N, E}, 10).topk(K, -1));
  const Tensors inputs = {random({N, D}, 11),    random({E, H, D}, 12), random({E, H, D}, 13),
                          random({E, D, H}, 14), random({N, K}, 15),    random({N, D}, 21)};
  const auto operation = [&](auto function) {
    return [&, function](const Tensors& in) {
      return function(in[5], in[0], {in[1], in[2], in[3]}, chosen, in[4]);
    };
  };
  expect_same(operation(expert_feed_forward), operation(expert_feed_forward_reference), inputs);
  expect_same(operation(expert_feed_forward_by_blocks), operation(expert_feed_forward_reference),
              inputs);
}

INSTANTIATE_TEST_SUITE_P(Sizes, FastExperts,
                         testing::Values(ExpertsCase{1, 1, 1, 1, 1}, ExpertsCase{9, 5, 3, 4, 1},
                                         ExpertsCase{40, 24, 11, 8, 2}, ExpertsCase{3, 7, 6, 9, 4},
                                         ExpertsCase{17, 6, 8, 3, 3}, ExpertsCase{300, 6, 5, 7, 2}));

TEST(FastExperts, AllTokensOnOneExpertLeaveTheOthersWithoutGradient) {
  const auto chosen = torch::ones({6, 1}, torch::kInt64);
  const Tensors inputs = {random({6, 4}, 16),    random({3, 5, 4}, 17), random({3, 5, 4}, 18),
                          random({3, 4, 5}, 19), torch::ones({6, 1}),   random({6, 4}, 21)};
  const auto operation = [&](auto function) {
    return [&, function](const Tensors& in) {
      return function(in[5], in[0], {in[1], in[2], in[3]}, chosen, in[4]);
    };
  };
  expect_same(operation(expert_feed_forward), operation(expert_feed_forward_reference), inputs);
  expect_same(operation(expert_feed_forward_by_blocks), operation(expert_feed_forward_reference),
              inputs);
  const auto found = evaluate(operation(expert_feed_forward), inputs, torch::kFloat32);
  EXPECT_EQ(found[2][0].abs().max().item<float>(), 0);
  EXPECT_GT(found[2][1].abs().max().item<float>(), 0);
}

TEST(FastExperts, RefuseAnAssignmentThatDoesNotExist) {
  const auto call = [](int64_t expert) {
    return expert_feed_forward(random({1, 2}, 1), random({1, 2}, 1),
                               {random({3, 2, 2}, 2), random({3, 2, 2}, 3), random({3, 2, 2}, 4)},
                               torch::full({1, 1}, expert, torch::kInt64), torch::ones({1, 1}));
  };
  EXPECT_THROW(call(3), c10::Error);
  EXPECT_THROW(call(-1), c10::Error);
}

TEST(FastPath, Linear) {
  const Tensors inputs = {random({2, 3, 7}, 30), random({5, 7}, 31), random({1, 7}, 32),
                          random({4, 7}, 33)};
  const auto operation = [](auto function) {
    return [function](const Tensors& in) {
      return function(in[0], std::vector<torch::Tensor>{in[1], in[2], in[3]});
    };
  };
  expect_same(operation(linear), operation(linear_reference), inputs);
}

TEST(FastPath, LinearAdd) {
  expect_same([](const Tensors& in) { return linear_add(in[0], in[1], in[2]); },
              [](const Tensors& in) { return linear_add_reference(in[0], in[1], in[2]); },
              {random({2, 3, 6}, 34), random({2, 3, 5}, 35), random({6, 5}, 36)});
}

struct RoutingCase {
  RoutingScores scores;
  int64_t tokens, experts, active;
  bool has_bias, has_losses;
};

class FastRouting : public testing::TestWithParam<RoutingCase> {};

TEST_P(FastRouting, MatchesTheReference) {
  const RoutingScores scores = GetParam().scores;
  const int64_t N = GetParam().tokens, E = GetParam().experts, K = GetParam().active;
  const bool has_bias = GetParam().has_bias, has_losses = GetParam().has_losses;
  const auto bias = has_bias ? random({E}, 40) * 0.1 : torch::Tensor();
  const auto losses = has_losses ? std::optional(RoutingLosses{0.7, 0.3}) : std::nullopt;
  const auto logits = random({N, E}, 41);
  const auto fast = top_k_routing(logits, bias, K, scores, losses);
  const auto reference =
      top_k_routing_reference(logits.to(torch::kDouble), bias, K, scores, losses);
  EXPECT_TRUE(torch::equal(fast.experts_NK, reference.experts_NK));
  EXPECT_TRUE(torch::equal(fast.load_E, reference.load_E));
  EXPECT_EQ(fast.loss.defined(), has_losses);
  EXPECT_TRUE(torch::allclose(fast.sums_2, reference.sums_2, 1e-5));
  // Both outputs as one, so that their gradients meet.
  const auto operation = [&](auto function) {
    return [&, function](const Tensors& in) {
      const auto top = function(in[0], bias, K, scores, losses);
      return has_losses ? top.weights_NK + top.loss : top.weights_NK;
    };
  };
  expect_same(operation(top_k_routing), operation(top_k_routing_reference), {logits});
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, FastRouting,
    testing::Values(RoutingCase{RoutingScores::kSoftmax, 50, 8, 2, false, true},
                    RoutingCase{RoutingScores::kSoftmax, 700, 17, 3, true, true},
                    RoutingCase{RoutingScores::kSoftmax, 5, 1, 1, false, false},
                    RoutingCase{RoutingScores::kSigmoid, 50, 8, 2, true, true},
                    RoutingCase{RoutingScores::kSigmoid, 700, 33, 1, false, true},
                    RoutingCase{RoutingScores::kSigmoid, 9, 4, 4, true, false}));

TEST(FastRouting, NotANumberStillSelectsDifferentExperts) {
  const auto top = top_k_routing(torch::full({2, 4}, std::nanf("")), {}, 3, RoutingScores::kSoftmax,
                                 std::nullopt);
  EXPECT_TRUE(torch::equal(top.experts_NK[0], torch::arange(3)));
}

TEST(LoadBalance, IsOneWhenEvenAndEWhenAllInsistOnOne) {
  const auto even = torch::full({6, 3}, 1.0 / 3);
  EXPECT_NEAR(load_balance_loss(even, torch::full({3}, 2.0)).item<double>(), 1, 1e-6);
  auto one = torch::zeros({6, 3});
  one.select(1, 1).fill_(1);
  EXPECT_NEAR(load_balance_loss(one, torch::tensor({0.0, 6.0, 0.0})).item<double>(), 3, 1e-6);
}

TEST(ZLoss, IsTheMeanSquaredLogSum) {
  const auto logits = torch::zeros({5, 8});
  EXPECT_NEAR(z_loss(logits).item<double>(), std::pow(std::log(8.0), 2), 1e-6);
}

TEST(FastPath, SameBitsForAnyNumberOfThreads) {
  const HeadLayout heads{4, 2, 12};
  const auto table = rotary_table(64, heads.head_size, 100);
  const RotaryTable narrow = {table.cos.to(torch::kFloat32), table.sin.to(torch::kFloat32)};
  const Operation operation = [&](const Tensors& in) {
    return rms_norm(causal_attention(rotary_norm(in[0], in[1], narrow, heads, 1.5), heads, 20));
  };
  const Tensors inputs = {random({6, 64, heads.features()}, 20), torch::ones({1})};
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const auto one = evaluate(operation, inputs, torch::kFloat32);
  at::set_num_threads(3);
  const auto three = evaluate(operation, inputs, torch::kFloat32);
  at::set_num_threads(threads);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], three[i])) << i;
}

}  // namespace
}  // namespace windtunnel::kernels

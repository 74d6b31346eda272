// What every router must do, over all that are registered, and the rules of each.

#include "model/router.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "model/router_kind.h"

namespace windtunnel::model {
namespace {

using base::Json;

std::shared_ptr<Router> make_router(const std::string& kind, int64_t experts,
                                    const Json& options = Json::object()) {
  return RouterFactories::instance()
      .get(kind, "router")
      .entry.make(complete_router({{"kind", kind}, {kind, options}}), experts);
}

torch::Tensor random_logits(int64_t tokens, int64_t experts) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(2);
  return torch::randn({tokens, experts}, generator, torch::TensorOptions(torch::kFloat32));
}

class RouterContract : public testing::TestWithParam<std::string> {};

TEST_P(RouterContract, WeightsSumToOneOverDifferentExperts) {
  for (const int64_t active : {1, 2, 5}) {
    const auto routing = make_router(GetParam(), 5)->route(random_logits(40, 5), active);
    EXPECT_EQ(routing.experts_NK.sizes(), (std::vector<int64_t>{40, active}));
    EXPECT_EQ(routing.experts_NK.scalar_type(), torch::kInt64);
    EXPECT_TRUE(torch::allclose(routing.weights_NK.sum(1), torch::ones({40})));
    EXPECT_TRUE((routing.weights_NK > 0).all().item<bool>());
    const auto sorted = std::get<0>(routing.experts_NK.sort(1));
    EXPECT_TRUE((sorted.slice(1, 1) > sorted.slice(1, 0, active - 1)).all().item<bool>());
    EXPECT_EQ(routing.load_E.sum().item<float>(), 40 * active);
  }
}

TEST_P(RouterContract, LargestLogitsAreSelected) {
  const auto routing = make_router(GetParam(), 3)->route(torch::tensor({{1.f, 3.f, 2.f}}), 2);
  EXPECT_TRUE(torch::equal(std::get<0>(routing.experts_NK.sort(1)),
                           torch::tensor({{1, 2}}, torch::kInt64)));
}

TEST_P(RouterContract, CollapseShowsInTheHealth) {
  const auto router = make_router(GetParam(), 4);
  auto logits = random_logits(100, 4);
  const auto healthy = health_of_load(router->route(logits, 1).load_E);
  logits.select(1, 2).add_(50);
  const auto collapsed = health_of_load(router->route(logits, 1).load_E);
  ASSERT_TRUE(healthy && collapsed);
  EXPECT_GT(healthy->load_entropy, 0.95);
  EXPECT_LT(healthy->max_load, 0.5);
  EXPECT_EQ(collapsed->load_entropy, 0);
  EXPECT_EQ(collapsed->max_load, 1);
  EXPECT_NEAR(collapsed->load_cv, std::sqrt(3.0), 1e-12);
}

TEST_P(RouterContract, LossPushesBackAgainstCollapse) {
  const Json options = {{"load_balance", 1}, {"z_loss", 0}};
  const auto router = make_router(GetParam(), 4, options);
  auto logits = random_logits(60, 4);
  logits.select(1, 2).add_(2);
  logits.requires_grad_(true);
  router->route(logits, 1).auxiliary_loss.backward();
  const auto gradient = logits.grad().sum(0);
  EXPECT_EQ(gradient.argmax().item<int64_t>(), 2);
  EXPECT_GT(gradient[2].item<float>(), 0);
}

TEST_P(RouterContract, LossesOnlyInTraining) {
  const auto router = make_router(GetParam(), 4);
  EXPECT_TRUE(router->route(random_logits(8, 4), 2).auxiliary_loss.defined());
  router->eval();
  EXPECT_FALSE(router->route(random_logits(8, 4), 2).auxiliary_loss.defined());
}

INSTANTIATE_TEST_SUITE_P(AllKinds, RouterContract,
                         testing::ValuesIn(RouterKinds::instance().names()),
                         [](const auto& info) { return info.param; });

TEST(RouterKinds, EveryDescriptionHasAComputation) {
  EXPECT_EQ(RouterKinds::instance().names(), RouterFactories::instance().names());
}

TEST(RouterHealth, IsNothingBeforeTheFirstToken) {
  EXPECT_FALSE(health_of_load(torch::zeros({4})));
}

/// tests/golden/routers.py
const Json& golden() {
  static const Json values = base::read_json(WINDTUNNEL_SOURCE_DIR "/tests/golden/routers.json");
  return values;
}

torch::Tensor matrix_of(const Json& rows) {
  std::vector<double> values;
  for (const Json& row : rows) {
    for (const Json& value : row) values.push_back(value);
  }
  return torch::tensor(values, torch::kDouble).view({static_cast<int64_t>(rows.size()), -1});
}

torch::Tensor vector_of(const Json& values) {
  return torch::tensor(values.get<std::vector<double>>(), torch::kDouble);
}

/// Single precision in the fast loops, double in the reference.
class GoldenRouting : public testing::TestWithParam<torch::ScalarType> {};

TEST_P(GoldenRouting, SelectionWeightsLossesAndHealthMatchTheIndependentImplementation) {
  const double tolerance = GetParam() == torch::kDouble ? 1e-9 : 2e-6;
  for (const Json& given : golden()["cases"]) {
    const std::string kind = given["kind"];
    const auto bias = vector_of(given["bias"]);
    const auto router = make_router(kind, bias.size(0));
    router->to(GetParam());
    for (auto& [name, buffer] : router->state_buffers()) {
      if (name == "bias") buffer.copy_(bias);
    }
    const auto logits = matrix_of(given["logits"]).to(GetParam());
    const auto routing = router->route(logits, golden()["num_active"]);
    EXPECT_TRUE(torch::equal(routing.experts_NK.to(torch::kDouble), matrix_of(given["experts"])));
    EXPECT_TRUE(torch::allclose(routing.weights_NK.to(torch::kDouble), matrix_of(given["weights"]),
                                0, tolerance));
    EXPECT_TRUE(torch::equal(routing.load_E.to(torch::kDouble), vector_of(given["load"])));
    EXPECT_NEAR(routing.auxiliary_loss.item<double>(), given["auxiliary_loss"], tolerance);
    const auto health = health_of_load(routing.load_E);
    EXPECT_NEAR(health->load_entropy, given["load_entropy"], 1e-12);
    EXPECT_NEAR(health->load_cv, given["load_cv"], 1e-12);
    EXPECT_NEAR(health->max_load, given["max_load"], 1e-12);
    const auto tokens = static_cast<double>(logits.size(0));
    EXPECT_NEAR(routing.sums_2[0].item<double>() / tokens, given["z_loss"], 10 * tolerance);
    EXPECT_NEAR(routing.sums_2[1].item<double>() / static_cast<double>(logits.numel()),
                given["saturation"], 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, GoldenRouting,
                         testing::Values(torch::kFloat32, torch::kDouble),
                         [](const auto& info) { return toString(info.param); });

TEST(SigmoidRouter, FiftyBiasUpdatesMatchTheIndependentImplementation) {
  const torch::NoGradGuard no_grad;
  for (const Json& given : golden()["bias_updates"]) {
    const double clamp = given["bias_clamp"];
    const auto router = make_router("sigmoid", static_cast<int64_t>(given["shares"][0].size()),
                                    {{"bias_step", given["bias_step"]},
                                     {"bias_ema", given["bias_ema"]},
                                     {"bias_clamp", clamp}});
    const auto bias = router->state_buffers()[0].second;
    bool reached_clamp = false;
    for (size_t step = 0; step < given["shares"].size(); ++step) {
      router->after_optimizer_step(vector_of(given["shares"][step]).to(torch::kFloat32));
      const auto expected = vector_of(given["after"][step]);
      EXPECT_LT((bias.to(torch::kDouble) - expected).abs().max().item<double>(), 1e-6)
          << "step " << step;
      RouterHealth health;
      router->complete(health, 0);
      EXPECT_NEAR(*health.bias_mean, expected.abs().mean().item<double>(), 1e-6);
      EXPECT_NEAR(*health.bias_max, expected.abs().max().item<double>(), 1e-6);
      EXPECT_EQ(*health.bias_at_clamp, expected.abs().max().item<double>() >= clamp);
      reached_clamp |= *health.bias_at_clamp;
    }
    EXPECT_EQ(reached_clamp, clamp < 0.25);
  }
}

TEST(RouterHealth, WhatARouterHasNotIsAbsent) {
  RouterHealth softmax, without_bias;
  make_router("softmax", 4)->complete(softmax, 0);
  EXPECT_FALSE(softmax.bias_mean || softmax.bias_max || softmax.bias_at_clamp ||
               softmax.saturation);
  make_router("sigmoid", 4, {{"bias_step", 0}})->complete(without_bias, 0.25);
  EXPECT_FALSE(without_bias.bias_mean || without_bias.bias_max || without_bias.bias_at_clamp);
  EXPECT_EQ(without_bias.saturation, 0.25);
}

TEST(SigmoidRouter, BiasMovesAgainstTheLoadAndStaysCentredAndClamped) {
  const auto router =
      make_router("sigmoid", 4, {{"bias_step", 0.01}, {"bias_ema", 0.5}, {"bias_clamp", 0.05}});
  const torch::NoGradGuard no_grad;
  const auto bias = router->state_buffers()[0].second;
  const auto average = router->state_buffers()[1].second;
  router->after_optimizer_step(torch::tensor({1.0f, 0.0f, 0.0f, 0.0f}));
  // average = (0.25 + share) / 2; bias = 0.01 (0.25 - average) / 0.25, which is centred already.
  EXPECT_TRUE(torch::allclose(average, torch::tensor({0.625f, 0.125f, 0.125f, 0.125f})));
  EXPECT_TRUE(torch::allclose(bias, torch::tensor({-0.015f, 0.005f, 0.005f, 0.005f})));
  for (int step = 0; step < 50; ++step) {
    router->after_optimizer_step(torch::tensor({1.0f, 0.0f, 0.0f, 0.0f}));
  }
  EXPECT_NEAR(bias[0].item<float>(), -0.05, 1e-6);
  EXPECT_LE(bias.abs().max().item<float>(), 0.05f + 1e-6f);
}

TEST(SigmoidRouter, BiasSelectsButDoesNotWeigh) {
  const auto router = make_router("sigmoid", 3);
  const auto logits = torch::tensor({{0.3f, 0.2f, 0.1f}});
  const torch::NoGradGuard no_grad;
  torch::Tensor(router->state_buffers()[0].second).copy_(torch::tensor({-0.2f, 0.1f, 0.1f}));
  const auto routing = router->route(logits, 2);
  EXPECT_TRUE(torch::equal(std::get<0>(routing.experts_NK.sort(1)),
                           torch::tensor({{1, 2}}, torch::kInt64)));
  const auto affinities = torch::sigmoid(logits).gather(1, routing.experts_NK);
  EXPECT_TRUE(torch::allclose(routing.weights_NK, affinities / affinities.sum()));
}

TEST(SigmoidRouter, BiasEvensOutASkewedLoad) {
  const auto router = make_router("sigmoid", 4, {{"bias_step", 0.02}});
  auto logits = random_logits(400, 4);
  logits.select(1, 0).add_(0.5);
  const torch::NoGradGuard no_grad;
  const auto load_cv = [&](const Routing& routing) {
    return health_of_load(routing.load_E)->load_cv;
  };
  const double before = load_cv(router->route(logits, 1));
  for (int step = 0; step < 200; ++step) {
    const auto load = router->route(logits, 1).load_E;
    router->after_optimizer_step(load / load.sum());
  }
  EXPECT_LT(load_cv(router->route(logits, 1)), before / 3);
}

TEST(SigmoidRouter, NoStepNoBias) {
  const auto router = make_router("sigmoid", 2, {{"bias_step", 0}});
  const torch::NoGradGuard no_grad;
  router->after_optimizer_step(torch::tensor({1.0f, 0.0f}));
  EXPECT_EQ(router->state_buffers()[0].second.abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace windtunnel::model

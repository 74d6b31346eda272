// Golden values: tests/golden/optimizers.py, in double precision.

#include "trainer/optimizer.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "trainer/polar_express.h"

namespace windtunnel::trainer {
namespace {

using base::Json;
using torch::Tensor;

/// Single precision over a few steps whose products sum a dozen terms.
constexpr double kTolerance = 2e-5;
constexpr size_t kSteps = 6;

const Json& golden() {
  static const Json values = base::read_json(WINDTUNNEL_SOURCE_DIR "/tests/golden/optimizers.json");
  return values;
}

Tensor tensor_of(const Json& values, const Json& shape) {
  return torch::tensor(values.get<std::vector<double>>(), at::kDouble)
      .view(shape.get<std::vector<int64_t>>())
      .to(at::kFloat);
}

study::OptimizerConfig golden_config() {
  study::OptimizerConfig config;
  config.weight_decay = golden()["weight_decay"];
  return config;
}

/// An optimizer with options of its own has several sets of golden values.
struct Variant {
  std::string kind;
  std::string golden_key;
  std::string muon_experts = "stacked";
};

std::vector<Variant> every_variant() {
  std::vector<Variant> all;
  for (const std::string& kind : OptimizerKinds::instance().names()) all.push_back({kind, kind});
  all.push_back({"muon", "muon_separate", "separate"});
  return all;
}

/// Parameters of all cases of one optimizer, trained together.
struct Trained {
  std::vector<model::Parameter> parameters;
  std::unique_ptr<Optimizer> optimizer;
};

Trained start(const Variant& variant) {
  Trained trained;
  study::OptimizerConfig config = golden_config();
  config.muon_experts = variant.muon_experts;
  for (const Json& given : golden()[variant.golden_key]) {
    Tensor weights = tensor_of(given["weights"], given["shape"]).requires_grad_();
    const auto role =
        weights.dim() == 3 ? model::ParameterRole::kExpertMatrices : model::ParameterRole::kMatrix;
    trained.parameters.push_back({given["name"], weights, role});
  }
  trained.optimizer = OptimizerKinds::instance()
                          .get(variant.kind, "optimizer")
                          .entry.make(trained.parameters, config);
  return trained;
}

void take_step(Trained& trained, const Variant& variant, size_t step) {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < trained.parameters.size(); ++i) {
    const Json& given = golden()[variant.golden_key][i];
    trained.parameters[i].tensor.mutable_grad() =
        tensor_of(given["gradients"][step], given["shape"]);
  }
  trained.optimizer->step(golden()["learning_rate"]);
}

class EveryOptimizer : public testing::TestWithParam<Variant> {};

TEST_P(EveryOptimizer, MatchesTheIndependentImplementation) {
  Trained trained = start(GetParam());
  for (size_t step = 0; step < kSteps; ++step) take_step(trained, GetParam(), step);
  for (size_t i = 0; i < trained.parameters.size(); ++i) {
    const Json& given = golden()[GetParam().golden_key][i];
    const Tensor expected = tensor_of(given["after"], given["shape"]);
    EXPECT_LT((trained.parameters[i].tensor - expected).abs().max().item<double>(), kTolerance)
        << given["name"];
  }
}

TEST_P(EveryOptimizer, ContinuesBitForBitFromItsState) {
  Trained whole = start(GetParam());
  take_step(whole, GetParam(), 0);
  Trained resumed = start(GetParam());
  {
    const torch::NoGradGuard no_grad;
    const NamedTensors from = whole.optimizer->state();
    const NamedTensors to = resumed.optimizer->state();
    ASSERT_EQ(from.size(), to.size());
    for (size_t i = 0; i < from.size(); ++i) {
      EXPECT_EQ(from[i].first, to[i].first);
      to[i].second.copy_(from[i].second);
    }
    for (size_t i = 0; i < whole.parameters.size(); ++i) {
      resumed.parameters[i].tensor.copy_(whole.parameters[i].tensor);
    }
  }
  for (size_t step = 1; step < kSteps; ++step) {
    take_step(whole, GetParam(), step);
    take_step(resumed, GetParam(), step);
  }
  for (size_t i = 0; i < whole.parameters.size(); ++i) {
    EXPECT_TRUE(whole.parameters[i].tensor.equal(resumed.parameters[i].tensor));
  }
}

/// One parameter and optimizer of the kind, with a peak rate of 0.02.
struct Single {
  Single(const std::string& kind, const std::string& schedule) {
    study::OptimizerConfig config = golden_config();
    config.learning_rate = 0.02;
    config.weight_decay_schedule = schedule;
    weights = torch::linspace(-1, 2, 12).view({4, 3}).requires_grad_();
    optimizer = OptimizerKinds::instance()
                    .get(kind, "optimizer")
                    .entry.make({{"m", weights, model::ParameterRole::kMatrix}}, config);
  }

  Tensor after(double learning_rate, const Tensor& gradient) {
    const torch::NoGradGuard no_grad;
    weights.mutable_grad() = gradient.clone();
    optimizer->step(learning_rate);
    return weights.detach().clone();
  }

  Tensor weights;
  std::unique_ptr<Optimizer> optimizer;
};

TEST_P(EveryOptimizer, ConstantDecayTakesOffTheSameAtEveryRate) {
  const Tensor zero = torch::zeros({4, 3});
  const Tensor start = torch::linspace(-1, 2, 12).view({4, 3});
  const double scale = GetParam().kind == "muon" ? 0.2 * std::sqrt(4.0) : 1;
  for (const double rate : {0.02, 0.005, 0.0}) {
    const Tensor constant = Single(GetParam().kind, "constant").after(rate, zero);
    EXPECT_TRUE(constant.allclose(start * (1 - 0.1 * 0.02 * scale), 1e-6, 1e-7)) << rate;
    const Tensor follows = Single(GetParam().kind, "rate").after(rate, zero);
    EXPECT_TRUE(follows.allclose(start * (1 - 0.1 * rate * scale), 1e-6, 1e-7)) << rate;
  }
}

TEST_P(EveryOptimizer, AtThePeakRateConstantDecayIsThatOfTheRate) {
  const Tensor gradient = torch::linspace(1, -1, 12).view({4, 3});
  EXPECT_TRUE(Single(GetParam().kind, "constant")
                  .after(0.02, gradient)
                  .allclose(Single(GetParam().kind, "rate").after(0.02, gradient), 1e-6, 1e-7));
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryOptimizer, testing::ValuesIn(every_variant()),
                         [](const auto& variant) { return variant.param.golden_key; });

TEST(Muon, AZeroGradientLeavesOnlyWeightDecay) {
  const Tensor weights = torch::ones({4, 3}).requires_grad_();
  const auto optimizer =
      OptimizerKinds::instance()
          .get("muon", "optimizer")
          .entry.make({{"m", weights, model::ParameterRole::kMatrix}}, golden_config());
  const torch::NoGradGuard no_grad;
  weights.mutable_grad() = torch::zeros({4, 3});
  optimizer->step(0.01);
  const double rate = 0.01 * 0.2 * std::sqrt(4.0);
  EXPECT_TRUE(weights.allclose(torch::full({4, 3}, 1 - 0.1 * rate)));
}

TEST(Muon, ADistantExpertChangesTheOthersOnlyWhereTheyAreStacked) {
  for (const std::string mode : {"stacked", "separate"}) {
    std::vector<Tensor> after;
    for (const double size : {1.0, 100.0}) {
      torch::manual_seed(3);
      const Tensor weights = torch::randn({2, 5, 4}).requires_grad_();
      const Tensor gradient = torch::randn({2, 5, 4});
      study::OptimizerConfig config;
      config.muon_experts = mode;
      const auto optimizer =
          OptimizerKinds::instance()
              .get("muon", "optimizer")
              .entry.make({{"e", weights, model::ParameterRole::kExpertMatrices}}, config);
      const torch::NoGradGuard no_grad;
      gradient[1].mul_(size);
      weights.mutable_grad() = gradient;
      optimizer->step(0.01);
      after.push_back(weights[0].clone());
    }
    EXPECT_EQ(after[0].equal(after[1]), mode == "separate") << mode;
  }
}

TEST(PolarExpress, SingularValuesComeNearOneAndVectorsStay) {
  torch::manual_seed(1);
  const std::vector<Tensor> stacks = {torch::randn({2, 20, 6}), torch::randn({1, 6, 30}),
                                      torch::randn({3, 6, 6})};
  const std::vector<Tensor> results = orthogonalize(stacks);
  for (size_t i = 0; i < 2; ++i) {
    const Tensor values = at::linalg_svdvals(results[i]);
    EXPECT_GT(values.min().item<double>(), 0.7);
    EXPECT_LT(values.max().item<double>(), 1.3);
    // X' O is symmetric and positive exactly when O has the singular vectors of X.
    const Tensor product = stacks[i].mT().matmul(results[i]);
    EXPECT_TRUE(product.allclose(product.mT(), 1e-3, 1e-3));
  }
}

TEST(Optimizers, GroupsGoByRole) {
  const auto parameter = [](const char* name, at::IntArrayRef shape, model::ParameterRole role) {
    return model::Parameter{name, torch::zeros(shape).requires_grad_(), role};
  };
  using enum model::ParameterRole;
  const auto optimizers = make_optimizers(
      {parameter("embedding", {5, 4}, kEmbedding), parameter("matrix", {4, 4}, kMatrix),
       parameter("experts", {2, 3, 4}, kExpertMatrices), parameter("router", {2, 4}, kRouter),
       parameter("attention_gate", {2, 4}, kGate), parameter("gain", {1}, kScalar),
       parameter("head", {5, 4}, kHead)},
      {});
  std::string names;
  for (const auto& [name, tensor] : state_of(optimizers)) names += name + " ";
  EXPECT_EQ(names,
            "0.adamw.steps 0.embedding.first_moment 0.embedding.second_moment "
            "0.attention_gate.first_moment 0.attention_gate.second_moment 0.gain.first_moment "
            "0.gain.second_moment 0.head.first_moment 0.head.second_moment 1.experts.momentum "
            "1.experts.second_moment 1.router.momentum 1.router.second_moment 1.matrix.momentum "
            "1.matrix.second_moment ");
}

}  // namespace
}  // namespace windtunnel::trainer

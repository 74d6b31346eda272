// What every layer kind must do; runs over all that are registered, so a kind that is added is
// tested without a line here. Each kind also runs with its options changed (variants below, by
// letter), if it has some that change the computation.

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <set>

#include "model/census.h"
#include "model/language_model.h"
#include "model/layer.h"
#include "model/layer_kind.h"
#include "model/router_kind.h"

namespace windtunnel::model {
namespace {

using base::Json;

struct Subject {
  std::string name;
  char letter;
  Json options = Json::object();
  /// Of the two layers of a kind; the second sees all keys.
  int ordinal = 0;
};

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const auto& kind : LayerKinds::instance().kinds()) {
    all.push_back({kind.name, kind.entry.letter});
  }
  all.push_back({"attention_windowed", '*', {{"windows", "S"}, {"head_size", 2}, {"kv_heads", 2}}});
  const auto mix = [](const char* kind) { return Json{{"value_mix", {{"kind", kind}}}}; };
  for (const char* kind : {"fixed", "learned", "normalized", "residual"}) {
    all.push_back({std::string("attention_mix_") + kind, '*', mix(kind), 1});
  }
  all.push_back({"attention_exclusive", '*', {{"exclusive", true}, {"kv_heads", 2}}});
  for (const char* kind : {"sigmoid", "centered"}) {
    all.push_back({std::string("attention_gate_") + kind, '*', {{"gate", {{"kind", kind}}}}});
  }
  all.push_back({"attention_all",
                 '*',
                 {{"exclusive", true},
                  {"gate", {{"kind", "sigmoid"}}},
                  {"value_mix", {{"kind", "fixed"}}},
                  {"windows", "S"},
                  {"short_window", 3}},
                 1});
  for (const auto& router : RouterKinds::instance().kinds()) {
    all.push_back({"experts_" + router.name,
                   'E',
                   {{"num_experts", 5}, {"num_active", 3}, {"router", {{"kind", router.name}}}}});
  }
  return all;
}

constexpr int64_t kRows = 3, kTokens = 9;

ModelConfig config_of(const Subject& subject) {
  // Two of a kind, so that windows are not all those of the last layer.
  return resolve({.pattern = std::string(2, subject.letter),
                  .width = 8,
                  .context_tokens = kTokens,
                  .vocabulary_size = 11,
                  .layers = {{std::string(1, subject.letter), subject.options}}});
}

LayerPlace place_of(const Subject& subject) {
  return {.position = subject.ordinal, .ordinal = subject.ordinal, .count = 2};
}

std::shared_ptr<Layer> make_layer(const Subject& subject, uint64_t seed = 3) {
  const auto& kind = layer_kind(subject.letter);
  return LayerFactories::instance()
      .get(kind.name, "layer kind")
      .entry.make(config_of(subject), place_of(subject), WeightSource(seed, "layers.0."));
}

torch::Tensor random(at::IntArrayRef sizes, torch::ScalarType type = torch::kFloat32) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(5);
  return torch::randn(sizes, generator, torch::TensorOptions(type));
}

/// What earlier layers would have left: values that, like theirs, depend on each token alone.
ForwardPass pass_before(const Layer& layer, const torch::Tensor& residual_BTD) {
  ForwardPass pass;
  for (const auto& parameter : layer.own_parameters()) {
    if (parameter.name == "value") {
      pass.first_values_BTV = residual_BTD.narrow(-1, 0, parameter.tensor.size(0)).sin();
    }
  }
  return pass;
}

torch::Tensor run(Layer& layer, const torch::Tensor& residual_BTD) {
  const torch::NoGradGuard no_grad;
  ForwardPass pass = pass_before(layer, residual_BTD);
  return layer.forward(residual_BTD, pass);
}

// Rows and prefixes go through products of other sizes, which sum in another order.
constexpr double kRounding = 2e-5;

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

class LayerContract : public testing::TestWithParam<Subject> {
 protected:
  std::shared_ptr<Layer> layer_ = make_layer(GetParam());
  torch::Tensor residual_BTD_ = random({kRows, kTokens, 8});
};

TEST_P(LayerContract, ShapeIsKeptAndTheResidualIsInIt) {
  const auto output = run(*layer_, residual_BTD_);
  EXPECT_EQ(output.sizes(), residual_BTD_.sizes());
  EXPECT_GT(distance(output, residual_BTD_), 1e-3) << "the layer does nothing";
  const torch::NoGradGuard no_grad;
  for (const auto& parameter : layer_->own_parameters()) parameter.tensor.zero_();
  EXPECT_EQ(distance(run(*layer_, residual_BTD_), residual_BTD_), 0);
}

TEST_P(LayerContract, FutureTokensDoNotChangeThePast) {
  const auto output = run(*layer_, residual_BTD_);
  auto changed = residual_BTD_.clone();
  changed.slice(1, 5).mul_(-3);
  const auto other = run(*layer_, changed);
  EXPECT_LT(distance(output.slice(1, 0, 5), other.slice(1, 0, 5)), kRounding);
  EXPECT_GT(distance(output.slice(1, 5), other.slice(1, 5)), 1e-3);
}

TEST_P(LayerContract, AShorterRowIsThePrefixOfALongerOne) {
  const auto output = run(*layer_, residual_BTD_);
  EXPECT_LT(distance(run(*layer_, residual_BTD_.slice(1, 0, 4)), output.slice(1, 0, 4)), kRounding);
}

TEST_P(LayerContract, RowsOfABatchAreIndependent) {
  const auto output = run(*layer_, residual_BTD_);
  for (int64_t row = 0; row < kRows; ++row) {
    EXPECT_LT(
        distance(run(*layer_, residual_BTD_.slice(0, row, row + 1)), output.slice(0, row, row + 1)),
        kRounding);
  }
}

TEST_P(LayerContract, SameSeedSameBits) {
  const auto twin = make_layer(GetParam());
  EXPECT_TRUE(torch::equal(run(*layer_, residual_BTD_), run(*twin, residual_BTD_)));
  EXPECT_TRUE(torch::equal(run(*layer_, residual_BTD_), run(*layer_, residual_BTD_)));
}

TEST_P(LayerContract, GradientsAreRightInDouble) {
  layer_->to(torch::kDouble);
  layer_->train();
  auto residual = random({2, 5, 8}, torch::kDouble).requires_grad_(true);
  const auto weights = random({2, 5, 8}, torch::kDouble);
  const auto loss_of = [&] {
    ForwardPass pass = pass_before(*layer_, residual);
    auto loss = (layer_->forward(residual, pass) * weights).sum();
    for (const auto& extra : pass.auxiliary_losses) loss = loss + extra * 100;
    return loss;
  };
  loss_of().backward();
  std::vector<torch::Tensor> leaves = {residual};
  for (const auto& parameter : layer_->own_parameters()) leaves.push_back(parameter.tensor);
  const torch::NoGradGuard no_grad;
  for (auto& leaf : leaves) {
    ASSERT_TRUE(leaf.grad().defined());
    const auto gradient = leaf.grad().flatten();
    auto values = leaf.view({-1});
    // A few entries of each; a discrete choice of experts does not flip within the step.
    for (int64_t i = 0; i < values.size(0); i += 1 + values.size(0) / 7) {
      constexpr double kStep = 1e-6;
      const double before = values[i].item<double>();
      values[i] = before + kStep;
      const double above = loss_of().item<double>();
      values[i] = before - kStep;
      const double below = loss_of().item<double>();
      values[i] = before;
      EXPECT_NEAR(gradient[i].item<double>(), (above - below) / (2 * kStep), 1e-5);
    }
  }
}

TEST_P(LayerContract, SingleAndDoublePrecisionAgree) {
  auto single = residual_BTD_.clone().requires_grad_(true);
  auto wide = residual_BTD_.to(torch::kDouble).requires_grad_(true);
  const auto weights = random(residual_BTD_.sizes());
  const auto twin = make_layer(GetParam());
  twin->to(torch::kDouble);
  ForwardPass pass = pass_before(*layer_, single), twin_pass = pass_before(*twin, wide);
  const auto output = layer_->forward(single, pass);
  const auto expected = twin->forward(wide, twin_pass);
  EXPECT_LT(distance(output, expected), kRounding);
  (output * weights).sum().backward();
  (expected * weights.to(torch::kDouble)).sum().backward();
  EXPECT_LT(distance(single.grad(), wide.grad()), 20 * kRounding);
  for (size_t i = 0; i < layer_->own_parameters().size(); ++i) {
    EXPECT_LT(distance(layer_->own_parameters()[i].tensor.grad(),
                       twin->own_parameters()[i].tensor.grad()),
              20 * kRounding)
        << layer_->own_parameters()[i].name;
  }
}

TEST_P(LayerContract, Bfloat16IsCloseToSinglePrecision) {
  const auto expected = run(*layer_, residual_BTD_);
  const auto output = run(*layer_, residual_BTD_.to(torch::kBFloat16));
  EXPECT_EQ(output.scalar_type(), torch::kBFloat16);
  // Eight bits of fraction; a near-tie between experts may go the other way for a token.
  EXPECT_LT((output - expected).abs().mean().item<double>(), 0.05);
}

TEST_P(LayerContract, CensusEqualsTheParameters) {
  const ModelConfig config = config_of(GetParam());
  const auto counts = layer_kind(GetParam().letter)
                          .entry.census(config.layers.at(std::string(1, GetParam().letter)), config,
                                        place_of(GetParam()));
  int64_t total = 0;
  for (const auto& parameter : layer_->own_parameters()) total += parameter.tensor.numel();
  EXPECT_EQ(counts.sum().total, total);
  std::map<ParameterRole, int64_t> by_role;
  for (const auto& parameter : layer_->own_parameters()) {
    by_role[parameter.role] += parameter.tensor.numel();
  }
  for (const auto& [role, count] : counts.parameters) {
    EXPECT_EQ(count.total, by_role[role]) << name_of(role);
    EXPECT_LE(count.active, count.total) << name_of(role);
  }
  EXPECT_GT(counts.saved_values_per_token, 0);
}

TEST_P(LayerContract, OptionsSurviveARoundTrip) {
  const ModelConfig config = config_of(GetParam());
  const Json json = base::to_json(config);
  const auto read = base::from_json<ModelConfig>(Json::parse(json.dump()), "model");
  EXPECT_EQ(base::to_json(resolve(read)), json);
}

TEST_P(LayerContract, SavedParametersAndBuffersGiveTheSameOutput) {
  layer_->train();
  for (int step = 0; step < 3; ++step) {
    const torch::NoGradGuard no_grad;
    ForwardPass pass = pass_before(*layer_, residual_BTD_);
    layer_->forward(residual_BTD_, pass);
    layer_->after_optimizer_step();
  }
  const auto other = make_layer(GetParam(), 4);
  const torch::NoGradGuard no_grad;
  EXPECT_GT(distance(run(*layer_, residual_BTD_), run(*other, residual_BTD_)), 1e-3);
  for (size_t i = 0; i < layer_->own_parameters().size(); ++i) {
    other->own_parameters()[i].tensor.copy_(layer_->own_parameters()[i].tensor);
  }
  const auto from = layer_->state_buffers();
  const auto to = other->state_buffers();
  ASSERT_EQ(from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].first, to[i].first);
    torch::Tensor(to[i].second).copy_(from[i].second);
  }
  EXPECT_TRUE(torch::equal(run(*layer_, residual_BTD_), run(*other, residual_BTD_)));
}

TEST_P(LayerContract, LossesOfItsOwnOnlyInTraining) {
  ForwardPass pass = pass_before(*layer_, residual_BTD_);
  layer_->eval();
  layer_->forward(residual_BTD_, pass);
  EXPECT_TRUE(pass.auxiliary_losses.empty());
}

INSTANTIATE_TEST_SUITE_P(AllKinds, LayerContract, testing::ValuesIn(subjects()),
                         [](const auto& info) { return info.param.name; });

TEST(LayerKinds, EveryDescriptionHasAComputation) {
  EXPECT_EQ(LayerKinds::instance().names(), LayerFactories::instance().names());
  std::set<char> letters;
  for (const auto& kind : LayerKinds::instance().kinds()) letters.insert(kind.entry.letter);
  EXPECT_EQ(letters.size(), LayerKinds::instance().kinds().size());
}

}  // namespace
}  // namespace windtunnel::model

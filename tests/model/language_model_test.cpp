#include "model/language_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"
#include "kernels/cross_entropy.h"
#include "tests/model/json_tensor.h"

namespace windtunnel::model {
namespace {

using base::Json;

using tests::tensor_of;

const Json& golden() {
  static const Json cases =
      base::read_json(std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/golden/language_model.json");
  return cases;
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& [name, ignored] : golden().items()) names.push_back(name);
  return names;
}

class GoldenModel : public testing::TestWithParam<std::string> {
 protected:
  /// The model of the case with its weights filled in, in double to all of their digits.
  std::unique_ptr<LanguageModel> make_double() const {
    auto model = make();
    model->to(torch::kDouble);
    // make() rounded the weights through fp32; three digits need more. The router's bias stays
    // rounded, but it only selects.
    const torch::NoGradGuard no_grad;
    for (const auto& parameter : model->parameters_with_roles()) {
      torch::Tensor(parameter.tensor)
          .copy_(tensor_of(golden().at(GetParam()).at("parameters").at(parameter.name))
                     .view_as(parameter.tensor));
    }
    return model;
  }

  std::unique_ptr<LanguageModel> make() const {
    const Json& json = golden().at(GetParam());
    auto model = std::make_unique<LanguageModel>(
        resolve(base::from_json<ModelConfig>(json.at("config"), "golden")),
        base::RandomStream(1, "weights"));
    const torch::NoGradGuard no_grad;
    size_t used = 0;
    const auto fill = [&](const std::string& name, const torch::Tensor& tensor) {
      if (!json.at("parameters").contains(name)) return;
      tensor.copy_(tensor_of(json.at("parameters").at(name)).view_as(tensor));
      ++used;
    };
    for (const auto& parameter : model->parameters_with_roles()) {
      EXPECT_TRUE(json.at("parameters").contains(parameter.name)) << parameter.name;
      fill(parameter.name, parameter.tensor);
    }
    for (const auto& [name, buffer] : model->state_buffers()) fill(name, buffer);
    EXPECT_EQ(used, json.at("parameters").size());
    return model;
  }

  void expect_golden(LanguageModel& model, double tolerance) const {
    const Json& json = golden().at(GetParam());
    const auto output = model.forward(tensor_of(json.at("tokens")).to(torch::kInt64));
    EXPECT_LT((output.logits_BTV - tensor_of(json.at("logits"))).abs().max().item<double>(),
              tolerance);
    const double auxiliary = json.at("auxiliary_loss");
    if (auxiliary != 0) {
      EXPECT_NEAR(output.auxiliary_loss.item<double>(), auxiliary, tolerance);
    } else {
      EXPECT_FALSE(output.auxiliary_loss.defined());
    }
  }
};

TEST_P(GoldenModel, LogitsInDouble) { expect_golden(*make_double(), 1e-10); }

TEST_P(GoldenModel, GradientsInDouble) {
  const auto model = make_double();
  const Json& json = golden().at(GetParam());
  const auto output = model->forward(tensor_of(json.at("tokens")).to(torch::kInt64));
  auto loss =
      (output.logits_BTV.flatten() * torch::arange(output.logits_BTV.numel(), torch::kDouble).cos())
          .sum();
  if (output.auxiliary_loss.defined()) loss = loss + output.auxiliary_loss;
  loss.backward();
  size_t checked = 0;
  for (const auto& parameter : model->parameters_with_roles()) {
    ASSERT_TRUE(json.at("gradients").contains(parameter.name)) << parameter.name;
    for (const Json& entry : json.at("gradients").at(parameter.name)) {
      const double expected = entry.at(1);
      // Central differences with a step of 1e-6 carry about 1e-9 of rounding.
      EXPECT_NEAR(parameter.tensor.grad().flatten()[entry.at(0).get<int64_t>()].item<double>(),
                  expected, 1e-7 * std::max(1.0, std::abs(expected)))
          << parameter.name;
      ++checked;
    }
  }
  EXPECT_GT(checked, 5U);
}

TEST_P(GoldenModel, LogitsInSinglePrecision) { expect_golden(*make(), 2e-5); }

INSTANTIATE_TEST_SUITE_P(Cases, GoldenModel, testing::ValuesIn(golden_names()),
                         [](const auto& info) { return info.param; });

ModelConfig small_config() {
  return resolve({.pattern = "*D*E",
                  .width = 16,
                  .context_tokens = 12,
                  .layers = {{"E", {{"router", {{"kind", "sigmoid"}}}}}}},
                 29);
}

torch::Tensor some_tokens(int64_t rows = 3, int64_t tokens = 12) {
  return (torch::arange(rows * tokens) * 7 % 29).view({rows, tokens});
}

TEST(LanguageModel, SameStreamSameBits) {
  LanguageModel one(small_config(), base::RandomStream(4, "weights"));
  LanguageModel two(small_config(), base::RandomStream(4, "weights"));
  LanguageModel other(small_config(), base::RandomStream(5, "weights"));
  const auto logits = one.forward(some_tokens()).logits_BTV;
  EXPECT_TRUE(torch::equal(logits, two.forward(some_tokens()).logits_BTV));
  EXPECT_FALSE(torch::equal(logits, other.forward(some_tokens()).logits_BTV));
}

TEST(LanguageModel, ChangingOneLayerLeavesTheOthersWeights) {
  ModelConfig changed = small_config();
  changed.layers["D"]["hidden"] = 99;
  const LanguageModel one(small_config(), base::RandomStream(4, "weights"));
  const LanguageModel two(changed, base::RandomStream(4, "weights"));
  const auto a = one.parameters_with_roles(), b = two.parameters_with_roles();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    const bool is_changed = a[i].name.find("dense") != std::string::npos;
    EXPECT_EQ(torch::equal(a[i].tensor, b[i].tensor), !is_changed) << a[i].name;
  }
}

TEST(LanguageModel, LearnedMixingWeightsReportThemselvesAndTheirGradients) {
  for (const char* kind : {"learned", "normalized", "residual"}) {
    const ModelConfig config = resolve(
        {.pattern = "(*D)3", .width = 16, .layers = {{"*", {{"value_mix", {{"kind", kind}}}}}}},
        29);
    LanguageModel model(config, base::RandomStream(4, "weights"));
    model.forward(some_tokens()).logits_BTV.square().mean().backward();
    std::map<std::string, double> second;
    for (const LayerFigure& figure : model.layer_figures()) {
      EXPECT_TRUE(figure.position == 2 || figure.position == 4) << "the first layer mixes nothing";
      if (figure.position == 2) second[figure.name] = figure.value.item<double>();
    }
    ASSERT_EQ(second.size(), 4U) << kind;
    const bool is_residual = std::string(kind) == "residual";
    EXPECT_NEAR(second.at("value_mix.first"), is_residual ? 0 : 0.75, 1e-6);
    EXPECT_NEAR(second.at("value_mix.own"), is_residual ? 1 : 0.25, 1e-6);
    EXPECT_GT(second.at("value_mix.gradient_norm"), 0);
    // A weight of zero lets nothing through to the first layer's values at first.
    EXPECT_EQ(second.at("value_mix.first_gradient_rms") == 0, is_residual);
  }
}

TEST(LanguageModel, InverseFanInMakesSmallerWeightsFromTheSameDraws) {
  ModelConfig config = small_config();
  const LanguageModel usual(config, base::RandomStream(4, "weights"));
  config.initialization = "inverse_fan_in";
  const LanguageModel small(config, base::RandomStream(4, "weights"));
  const auto fan_in = static_cast<double>(config.width);
  EXPECT_TRUE(torch::allclose(small.head_VD() * std::sqrt(fan_in), usual.head_VD()));
}

TEST(LanguageModel, InitialWeightsAreTruncatedNormals) {
  const LanguageModel model(resolve({.width = 64}, 512), base::RandomStream(1, "weights"));
  for (const auto& parameter : model.parameters_with_roles()) {
    if (parameter.role == ParameterRole::kScalar) {
      EXPECT_TRUE(torch::equal(parameter.tensor, torch::ones({1})));
      continue;
    }
    const double scale = 1 / std::sqrt(static_cast<double>(parameter.tensor.size(-1)));
    EXPECT_LE(parameter.tensor.abs().max().item<double>(), 3.0001 * scale) << parameter.name;
    if (parameter.tensor.numel() < 4000) continue;
    // The standard deviation of a normal cut off at three is 0.98658.
    EXPECT_NEAR(parameter.tensor.std().item<double>() / scale, 0.98658, 0.04) << parameter.name;
    EXPECT_NEAR(parameter.tensor.mean().item<double>() / scale, 0, 0.06) << parameter.name;
  }
}

TEST(LanguageModel, ParametersHaveStableNamesAndRoles) {
  const LanguageModel model(small_config(), base::RandomStream(1, "weights"));
  std::map<std::string, ParameterRole> roles;
  for (const auto& parameter : model.parameters_with_roles()) {
    EXPECT_TRUE(roles.emplace(parameter.name, parameter.role).second) << parameter.name;
  }
  using enum ParameterRole;
  const std::map<std::string, ParameterRole> expected = {
      {"embedding", kEmbedding},
      {"head", kHead},
      {"layers.0.attention.query", kMatrix},
      {"layers.0.attention.key", kMatrix},
      {"layers.0.attention.value", kMatrix},
      {"layers.0.attention.out", kMatrix},
      {"layers.0.attention.query_gain", kScalar},
      {"layers.1.dense.gate", kMatrix},
      {"layers.1.dense.up", kMatrix},
      {"layers.1.dense.down", kMatrix},
      {"layers.2.attention.query", kMatrix},
      {"layers.2.attention.key", kMatrix},
      {"layers.2.attention.value", kMatrix},
      {"layers.2.attention.out", kMatrix},
      {"layers.2.attention.query_gain", kScalar},
      {"layers.3.experts.router", kRouter},
      {"layers.3.experts.gate", kExpertMatrices},
      {"layers.3.experts.up", kExpertMatrices},
      {"layers.3.experts.down", kExpertMatrices}};
  EXPECT_EQ(roles, expected);
  std::vector<std::string> buffers;
  for (const auto& [name, buffer] : model.state_buffers()) buffers.push_back(name);
  EXPECT_EQ(buffers,
            (std::vector<std::string>{"layers.3.experts.bias", "layers.3.experts.average_share"}));
}

TEST(LanguageModel, StartsNearTheUniformDistribution) {
  LanguageModel model(small_config(), base::RandomStream(1, "weights"));
  const auto nats = kernels::cross_entropy(model.forward(some_tokens()).logits_BTV, some_tokens());
  EXPECT_NEAR(nats.mean().item<double>(), std::log(29.0), 0.8);
}

TEST(LanguageModel, EveryParameterGetsAGradient) {
  LanguageModel model(small_config(), base::RandomStream(1, "weights"));
  const auto output = model.forward(some_tokens());
  (kernels::cross_entropy(output.logits_BTV, some_tokens()).mean() + output.auxiliary_loss)
      .backward();
  for (const auto& parameter : model.parameters_with_roles()) {
    ASSERT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
    EXPECT_GT(parameter.tensor.grad().abs().max().item<double>(), 0) << parameter.name;
  }
}

TEST(LanguageModel, RouterBiasMovesOncePerStepFromTheLoadOfAllItsParts) {
  LanguageModel parts(small_config(), base::RandomStream(1, "weights"));
  LanguageModel whole(small_config(), base::RandomStream(1, "weights"));
  const torch::NoGradGuard no_grad;
  const auto tokens = some_tokens(4);
  parts.forward(tokens.slice(0, 0, 2));
  parts.forward(tokens.slice(0, 2, 4));
  whole.forward(tokens);
  for (auto* model : {&parts, &whole}) model->after_optimizer_step();
  const auto a = parts.state_buffers(), b = whole.state_buffers();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i].second, b[i].second));
  EXPECT_GT(a[0].second.abs().max().item<double>(), 0);
}

TEST(LanguageModel, EvaluationDoesNotMoveTheBias) {
  LanguageModel model(small_config(), base::RandomStream(1, "weights"));
  const torch::NoGradGuard no_grad;
  model.eval();
  const auto output = model.forward(some_tokens());
  EXPECT_FALSE(output.auxiliary_loss.defined());
  LanguageModel twin(small_config(), base::RandomStream(1, "weights"));
  for (auto* each : {&model, &twin}) {
    each->train();
    each->forward(some_tokens());
    each->after_optimizer_step();
  }
  EXPECT_TRUE(torch::equal(model.state_buffers()[0].second, twin.state_buffers()[0].second));
}

TEST(LanguageModel, RouterHealthCountsUntilReset) {
  LanguageModel model(small_config(), base::RandomStream(1, "weights"));
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(model.router_health().empty());
  model.forward(some_tokens());
  const auto health = model.router_health();
  ASSERT_EQ(health.size(), 1u);
  EXPECT_EQ(health[0].position, 3);
  EXPECT_GT(health[0].load_entropy, 0);
  EXPECT_LE(health[0].load_entropy, 1);
  EXPECT_GE(health[0].max_load, 1.0 / 8);
  model.reset_router_health();
  EXPECT_TRUE(model.router_health().empty());
}

/// The weights of the router in layer 3 of small_config().
torch::Tensor router_of(const LanguageModel& model) {
  for (const auto& parameter : model.parameters_with_roles()) {
    if (parameter.role == ParameterRole::kRouter) return parameter.tensor;
  }
  return {};
}

TEST(LanguageModel, RouterHealthTellsTheSizeOfTheLogits) {
  LanguageModel model(small_config(), base::RandomStream(1, "weights"));
  const torch::NoGradGuard no_grad;
  router_of(model).zero_();
  model.forward(some_tokens());
  auto health = model.router_health()[0];
  EXPECT_NEAR(health.z_loss, std::log(8.0) * std::log(8.0), 1e-6);
  EXPECT_EQ(health.saturation, 0);
  EXPECT_EQ(health.bias_max, 0);
  EXPECT_EQ(health.bias_at_clamp, false);
  router_of(model).normal_(0, 1000);
  model.reset_router_health();
  model.forward(some_tokens());
  model.forward(some_tokens());  // a mean: twice the tokens change nothing
  health = model.router_health()[0];
  EXPECT_GT(health.z_loss, 1e4);
  EXPECT_GT(*health.saturation, 0.95);
}

TEST(LanguageModel, RouterHealthContinuesFromItsCounters) {
  LanguageModel whole(small_config(), base::RandomStream(1, "weights"));
  LanguageModel resumed(small_config(), base::RandomStream(1, "weights"));
  const torch::NoGradGuard no_grad;
  whole.forward(some_tokens());
  const auto from = whole.health_counters(), to = resumed.health_counters();
  ASSERT_EQ(from.size(), 2u);
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].first, to[i].first);
    torch::Tensor(to[i].second).copy_(from[i].second);
  }
  const auto one = whole.router_health()[0], other = resumed.router_health()[0];
  EXPECT_EQ(one.max_load, other.max_load);
  EXPECT_EQ(one.z_loss, other.z_loss);
}

/// The router matrix has rows that differ by 2^-12, which bfloat16 cannot tell apart.
TEST(LanguageModel, RoutersDecideNearTiesInSingleWhateverTheModelsPrecision) {
  ModelConfig config = small_config();
  config.layers["E"]["num_active"] = 1;
  for (const char* kind : {"softmax", "sigmoid"}) {
    config.layers["E"]["router"] = Json{{"kind", kind}};
    LanguageModel model(resolve(config), base::RandomStream(1, "weights"));
    const torch::NoGradGuard no_grad;
    model.set_compute_type(torch::kBFloat16);
    const auto router = router_of(model);
    const auto row = router[0].clone();
    for (int64_t e = 0; e < router.size(0); ++e) {
      router[e].copy_(row * (1 + static_cast<double>(e) * std::ldexp(1.0, -12)));
    }
    model.forward(some_tokens());
    // A positive logit is largest in the last row, a negative one in the first.
    const auto load = model.health_counters()[0].second;
    EXPECT_EQ((load[0] + load[router.size(0) - 1]).item<float>(), load.sum().item<float>()) << kind;
    EXPECT_GT(load[0].item<float>(), 0);
    EXPECT_GT(load[router.size(0) - 1].item<float>(), 0);
  }
}

TEST(LanguageModel, ComputesInBfloat16WithWeightsInSingle) {
  LanguageModel model(small_config(), base::RandomStream(1, "weights"));
  const auto expected = model.forward(some_tokens()).logits_BTV;
  model.set_compute_type(torch::kBFloat16);
  const auto output = model.forward(some_tokens());
  EXPECT_EQ(output.logits_BTV.scalar_type(), torch::kBFloat16);
  EXPECT_LT((output.logits_BTV - expected).abs().mean().item<double>(), 0.05);
  (kernels::cross_entropy(output.logits_BTV, some_tokens()).mean() + output.auxiliary_loss)
      .backward();
  for (const auto& parameter : model.parameters_with_roles()) {
    EXPECT_EQ(parameter.tensor.grad().scalar_type(), torch::kFloat32) << parameter.name;
  }
}

TEST(LanguageModel, NeedsAVocabulary) {
  EXPECT_THROW(LanguageModel(resolve({}), base::RandomStream(1, "weights")), base::Error);
}

}  // namespace
}  // namespace windtunnel::model

// Golden values: tests/golden/objectives.py, in double precision.

#include <gtest/gtest.h>

#include <functional>

#include "base/json.h"
#include "tests/model/json_tensor.h"
#include "tests/trainer/objective_setting.h"

namespace windtunnel::trainer {
namespace {

using base::Json;
using torch::Tensor;

/// Values of a dozen digits, gradients by central differences of step 1e-5.
constexpr double kTolerance = 1e-10, kGradientTolerance = 1e-8;

const Json& golden() {
  static const Json values = base::read_json(WINDTUNNEL_SOURCE_DIR "/tests/golden/objectives.json");
  return values;
}

using tests::tensor_of;

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return (a - b).abs().max().item<double>();
}

/// The byte tokenizer, with the merges of a case that has some.
corpus::Tokenizer tokenizer_of(const Json& json) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  if (json.contains("merges")) {
    for (const Json& merge : json["merges"]) tokens.push_back(merge.get<std::string>());
  }
  return corpus::Tokenizer::from_ranks(std::move(tokens), {corpus::kBeginOfDocument});
}

/// One objective on a model whose head is the case's.
struct Case {
  explicit Case(const Json& given)
      : json(given), config(config_of(given)), model(config.model, base::RandomStream(1, "w")) {
    model.to(at::kDouble);
    const std::string kind = json["kind"];
    objective = ObjectiveFactories::instance()
                    .get(kind, "objective")
                    .entry.make({.config = config, .model = model, .tokenizer = [this] {
                                   return tokenizer_of(json);
                                 }});
    const Tensor tokens = tensor_of(json["tokens"]).to(at::kLong);
    step.tokens_BT = tokens.narrow(1, 0, tokens.size(1) - 1);
    step.targets_BT = tokens.narrow(1, 1, tokens.size(1) - 1);
    step.progress = json.value("progress", 1.0);
  }

  static study::RunConfig config_of(const Json& json) {
    study::RunConfig config;
    config.model.pattern = "*D";
    config.model.width = 8;
    config.model.context_tokens = static_cast<int64_t>(json["tokens"][0].size()) - 1;
    config.model = model::resolve(
        config.model, json.contains("merges") ? tokenizer_of(json).vocabulary_size() : 7);
    Json document = base::to_json(config);
    const std::string kind = json["kind"];
    document["train"]["objectives"][kind].merge_patch(json["options"]);
    return base::from_json<study::RunConfig>(document, kind);
  }

  const Json& json;
  study::RunConfig config;
  model::LanguageModel model;
  std::unique_ptr<Objective> objective;
  StepBatch step;
};

TEST(GoldenObjectives, LossesAndTheirGradients) {
  for (const Json& json : golden()["losses"]) {
    Case test(json);
    SCOPED_TRACE(json["kind"].get<std::string>() + " " + json["options"].dump());
    const Json& inputs = json["inputs"];
    std::map<std::string, Tensor> at;
    {
      const torch::NoGradGuard no_grad;
      for (const auto& parameter : test.objective->parameters()) {
        const std::string name = "parameters." + parameter.name;
        ASSERT_TRUE(inputs.contains(name)) << name;
        torch::Tensor(parameter.tensor).copy_(tensor_of(inputs[name]));
        at[name] = parameter.tensor;
      }
      at["head"] = test.model.head_VD();
      if (inputs.contains("head")) at["head"].copy_(tensor_of(inputs["head"]));
    }
    for (const char* name : {"hidden", "logits"}) {
      if (inputs.contains(name)) at[name] = tensor_of(inputs[name]).requires_grad_();
    }
    // Row by row, as micro-batches: the parts add up.
    const int64_t rows = test.step.tokens_BT.size(0);
    Tensor loss = torch::zeros({}, at::kDouble);
    for (int64_t row = 0; row < rows; ++row) {
      const auto part = [&](const Tensor& x) {
        return x.defined() ? x.narrow(0, row, 1) : Tensor();
      };
      loss = loss + test.objective->extra_loss({.tokens_BT = part(test.step.tokens_BT),
                                                .targets_BT = part(test.step.targets_BT),
                                                .hidden_BTD = part(at["hidden"]),
                                                .logits_BTV = part(at["logits"]),
                                                .share = 1.0 / static_cast<double>(rows),
                                                .step = test.step});
    }
    EXPECT_NEAR(loss.item<double>(), json["loss"].get<double>(), kTolerance);
    loss.backward();
    for (const auto& [name, expected] : json["gradients"].items()) {
      Tensor gradient;
      if (name == "number_logits") {
        const Tensor ids = tensor_of(json["number_ids"]).to(at::kLong);
        gradient = at["logits"].grad().index_select(-1, ids);
        EXPECT_EQ(at["logits"].grad().index_fill(-1, ids, 0).abs().max().item<double>(), 0);
      } else {
        gradient = at[name].grad();
      }
      EXPECT_LT(largest_difference(gradient, tensor_of(expected)), kGradientTolerance) << name;
    }
  }
}

TEST(GoldenObjectives, SharesOfTokensInTheLoss) {
  for (const Json& json : golden()["weights"]) {
    Case test(json);
    SCOPED_TRACE(json["kind"].get<std::string>() + " " + json["options"].dump());
    test.step.nats_BT = tensor_of(json["nats"]);
    const Tensor weights_BT = test.objective->token_weights_BT(test.step);
    EXPECT_LT(largest_difference(weights_BT / weights_BT.sum(), tensor_of(json["shares"])),
              kTolerance);
  }
}

TEST(GoldenObjectives, RowsOfASequenceWarmUp) {
  const Json& json = golden()["sequence_warm_up"];
  study::RunConfig config;
  config.model.context_tokens = 12;
  config.model.vocabulary_size = 7;
  config.train.tokens_per_step = 24;
  Json document = base::to_json(config);
  document["train"]["objectives"]["sequence_warm_up"] = json["options"];
  config = study::resolve_run_config(document, "test");
  model::LanguageModel model(config.model, base::RandomStream(1, "w"));
  const Objectives objectives({.config = config, .model = model, .tokenizer = {}});
  const Tensor tokens = tensor_of(json["tokens"]).to(at::kLong);
  for (const Json& cut : json["cut"]) {
    EXPECT_TRUE(
        objectives.cut_rows(tokens, cut["progress"]).equal(tensor_of(cut["rows"]).to(at::kLong)))
        << cut["progress"];
  }
}

TEST(GoldenObjectives, CenteringAfterAStep) {
  const Json json = {
      {"kind", "output_centering"}, {"options", {{"kind", "center"}}}, {"tokens", {{1, 2, 3}}}};
  Case test(json);
  const torch::NoGradGuard no_grad;
  test.model.head_VD().copy_(tensor_of(golden()["centering"]["head"]));
  test.objective->after_optimizer_step();
  EXPECT_LT(largest_difference(test.model.head_VD(), tensor_of(golden()["centering"]["after"])),
            kTolerance);
  EXPECT_FALSE(test.objective->extra_loss({.step = test.step}).defined());
}

}  // namespace
}  // namespace windtunnel::trainer

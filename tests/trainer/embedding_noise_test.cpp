#include "trainer/embedding_noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/objective_setting.h"
#include "trainer/training_step.h"

namespace windtunnel::trainer {
namespace {

using model::NoiseSite;
using tests::objective_batch;
using tests::Training;
using torch::Tensor;

Tensor noise_of(const EmbeddingNoise& noise, int64_t step, int64_t row, int64_t rows) {
  return noise.of_rows(step, row)(NoiseSite::kHidden, torch::zeros({rows, 50, 40}));
}

TEST(EmbeddingNoise, IsUniformAndAsLargeAsItsScaleSays) {
  const Tensor noise = noise_of({{.site = "hidden", .scale = 5}, 1}, 0, 0, 4);
  const double size = 5 / std::sqrt(50.0 * 40.0);
  EXPECT_LE(noise.abs().max().item<double>(), size);
  EXPECT_GT(noise.abs().max().item<double>(), 0.99 * size);
  // 8000 draws: the mean is within 0.0065 of its size, the standard deviation within half a
  // percent.
  EXPECT_NEAR(noise.mean().item<double>(), 0, 0.026 * size);
  EXPECT_NEAR(noise.std().item<double>(), size / std::sqrt(3.0), 0.02 * size);
}

TEST(EmbeddingNoise, IsAFunctionOfSeedStepAndRow) {
  const EmbeddingNoise noise({.site = "hidden"}, 1), other({.site = "hidden"}, 2);
  const Tensor whole = noise_of(noise, 3, 0, 4);
  EXPECT_TRUE(noise_of(noise, 3, 0, 4).equal(whole));
  EXPECT_TRUE(noise_of(noise, 3, 2, 2).equal(whole.narrow(0, 2, 2)));
  EXPECT_FALSE(whole[0].equal(whole[1]));
  EXPECT_FALSE(noise_of(noise, 4, 0, 4).equal(whole));
  EXPECT_FALSE(noise_of(other, 3, 0, 4).equal(whole));
}

TEST(EmbeddingNoise, ComesInAtItsSiteOnly) {
  study::RunConfig config = tests::objective_config({});
  Training training(config, at::kFloat);
  const Tensor tokens = tests::tokens_of(objective_batch()).narrow(1, 0, 12).contiguous();
  const auto plain = training.model.forward(tokens);
  const std::vector<std::pair<std::string, NoiseSite>> sites = {
      {"embedding", NoiseSite::kEmbedding},
      {"normalized", NoiseSite::kNormalized},
      {"hidden", NoiseSite::kHidden}};
  std::vector<Tensor> logits;
  for (const auto& [name, site] : sites) {
    const auto disturb = EmbeddingNoise({.site = name}, 1).of_rows(0, 0);
    for (const auto& [ignored, other] : sites) {
      const Tensor x = torch::ones({1, 2, 3});
      EXPECT_EQ(disturb(other, x).equal(x), other != site) << name;
    }
    logits.push_back(training.model.forward(tokens, disturb).logits_BTV);
    EXPECT_FALSE(logits.back().equal(plain.logits_BTV)) << name;
  }
  // Before the head, the noise is what is added to the hidden state that the head reads.
  const double size = 5 / std::sqrt(12.0 * 16.0);
  const auto disturbed =
      training.model.forward(tokens, EmbeddingNoise({.site = "hidden"}, 1).of_rows(0, 0));
  EXPECT_LE((disturbed.hidden_BTD - plain.hidden_BTD).abs().max().item<double>(), size * 1.0001);
  EXPECT_TRUE(training.model.forward(tokens).logits_BTV.equal(plain.logits_BTV));
}

TEST(EmbeddingNoise, MicroBatchesGetTheNoiseOfTheWholeStep) {
  const auto gradients = [](int64_t rows) {
    Training training(tests::objective_config({"selective"}));
    training_step(training.model, training.objectives, {}, objective_batch(), {},
                  {.device = torch::Device(at::kCPU),
                   .precision = "float32",
                   .micro_batch_rows = rows,
                   .gradient_clip_norm = 1e30,
                   .noise = EmbeddingNoise({.site = "normalized"}, 1)});
    return training.model.head_VD().grad().clone();
  };
  const Tensor whole = gradients(0);
  EXPECT_LT((whole - gradients(1)).abs().max().item<double>(), 1e-12);
}

}  // namespace
}  // namespace windtunnel::trainer

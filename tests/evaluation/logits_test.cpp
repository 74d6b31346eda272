#include "evaluation/logits.h"

#include <gtest/gtest.h>

namespace windtunnel::evaluation {
namespace {

model::LanguageModel small_model() {
  const auto config = model::resolve({.pattern = "*E", .width = 16, .context_tokens = 12}, 29);
  return {config, base::RandomStream(4, "weights")};
}

torch::Tensor some_tokens() { return (torch::arange(5 * 12) * 7 % 29).view({5, 12}); }

TEST(Logits, AreTheModelsOwnHoweverManyRowsAtOnce) {
  auto model = small_model();
  const torch::NoGradGuard no_grad;
  const auto expected = model.forward(some_tokens()).logits_BTV;
  for (const int64_t rows : {1, 2, 5, 16}) {
    const auto logits = logits_of(model, some_tokens(), rows);
    EXPECT_EQ(logits.sizes(), torch::IntArrayRef({5, 12, 29}));
    EXPECT_EQ(logits.scalar_type(), torch::kFloat32);
    EXPECT_TRUE(torch::allclose(logits, expected, 0, 1e-6)) << rows;
  }
}

TEST(Logits, AreComputedInEvaluationMode) {
  auto model = small_model();
  model.train();
  logits_of(model, some_tokens(), 16);
  EXPECT_FALSE(model.is_training());
}

}  // namespace
}  // namespace windtunnel::evaluation

#include "evaluation/generate.h"

#include <gtest/gtest.h>

#include "tests/evaluation/small_model.h"

namespace windtunnel::evaluation {
namespace {

constexpr int32_t kBegin = 256;

std::vector<int32_t> sample(const SamplingOptions& options, uint64_t seed) {
  auto model = tests::small_model();
  base::RandomStream random(seed, "sampling");
  std::vector<int32_t> drawn;
  generate(model, {kBegin, 't', 'h'}, kBegin, options, random,
           [&](int32_t token) { drawn.push_back(token); });
  return drawn;
}

TEST(Generate, SameSeedSameText) {
  // More tokens than the context holds.
  const SamplingOptions options{.max_tokens = 40, .temperature = 1, .top_k = 0};
  EXPECT_EQ(sample(options, 1), sample(options, 1));
  EXPECT_NE(sample(options, 1), sample(options, 2));
  EXPECT_LE(sample(options, 1).size(), 40);
}

TEST(Generate, TemperatureZeroAndTopOneTakeTheMostLikelyToken) {
  const SamplingOptions greedy{.max_tokens = 10, .temperature = 0, .top_k = 0};
  EXPECT_EQ(sample(greedy, 1), sample(greedy, 2));
  EXPECT_EQ(sample(greedy, 1), sample({.max_tokens = 10, .temperature = 1, .top_k = 1}, 3));
}

TEST(Generate, TheEndTokenEndsAndIsNotGiven) {
  auto model = tests::small_model();
  base::RandomStream random(1, "sampling");
  const SamplingOptions greedy{.max_tokens = 10, .temperature = 0, .top_k = 0};
  const int32_t first = sample(greedy, 1).at(0);
  int64_t drawn = 0;
  generate(model, {kBegin, 't', 'h'}, first, greedy, random, [&](int32_t) { ++drawn; });
  EXPECT_EQ(drawn, 0);
}

}  // namespace
}  // namespace windtunnel::evaluation

#include "model/census.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "model/language_model.h"

namespace windtunnel::model {
namespace {

using base::Json;

/// The reference sizes of the fixed-wall study: layers, width, head size, expert hidden units, of
/// which the first `stem` feed-forward layers are dense.
struct ReferenceSize {
  const char* name;
  int layers;
  int64_t width, head_size, hidden;
  int stem, experts;
  /// Millions, as published; 0 where nothing was.
  double active, total;
  /// The published models but one have a gate per head and layer: width weights and a bias each.
  bool has_gates = true;
};

ModelConfig config_of(const ReferenceSize& size) {
  std::string pattern;
  if (size.stem > 0) pattern += "(*D)" + std::to_string(size.stem);
  pattern += "(*E)" + std::to_string(size.layers - size.stem);
  const Json attention = {{"head_size", size.head_size}, {"kv_heads", 2}, {"windows", "SSSL"}};
  const Json experts = {{"num_experts", size.experts}, {"num_active", 2}, {"hidden", size.hidden}};
  return resolve({.pattern = pattern,
                  .width = size.width,
                  .context_tokens = 2048,
                  .vocabulary_size = 8192,
                  .layers = {{"*", attention}, {"D", Json::object()}, {"E", experts}}});
}

class PublishedCounts : public testing::TestWithParam<ReferenceSize> {};

TEST_P(PublishedCounts, AreReproduced) {
  const ReferenceSize& size = GetParam();
  const Census counts = census(config_of(size), 2048);
  const int64_t heads = size.width / size.head_size;
  const int64_t gates = size.has_gates ? size.layers * heads * (size.width + 1) : 0;
  const auto millions = [](int64_t count) { return static_cast<double>(count) / 1e6; };
  constexpr double kRounding = 0.0501;
  if (size.active > 0) {
    EXPECT_NEAR(millions(counts.parameters_active + gates), size.active, kRounding);
  }
  if (size.total > 0) {
    EXPECT_NEAR(millions(counts.parameters_total + gates), size.total, kRounding);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, PublishedCounts,
    testing::Values(ReferenceSize{"S75", 7, 640, 64, 2176, 2, 16, 76.0, 368.4},
                    ReferenceSize{"F1", 8, 768, 128, 1792, 2, 16, 91.3, 438.2},
                    ReferenceSize{"F1_no_stem", 8, 768, 128, 1792, 0, 16, 91.3, 553.7, false},
                    ReferenceSize{"F2", 10, 1024, 128, 2304, 2, 16, 184.8, 977.5},
                    ReferenceSize{"F3", 12, 1280, 128, 3072, 2, 16, 351.6, 2003.1},
                    ReferenceSize{"F4", 14, 1536, 128, 3584, 2, 16, 565.2, 3339.7},
                    ReferenceSize{"F5", 16, 1792, 128, 4096, 2, 16, 852.2, 0},
                    ReferenceSize{"F1_4", 8, 768, 128, 1792, 2, 4, 0, 140.8},
                    ReferenceSize{"F1_8", 8, 768, 128, 1792, 2, 8, 0, 239.9},
                    ReferenceSize{"F1_32", 8, 768, 128, 1792, 2, 32, 0, 834.6},
                    ReferenceSize{"F1_64", 8, 768, 128, 1792, 2, 64, 0, 1627.5},
                    ReferenceSize{"F1_128", 8, 768, 128, 1792, 2, 128, 0, 3213.2}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Census, CountsTheFlopsOfTheReferenceSize) {
  const Census f1 = census(config_of({"F1", 8, 768, 128, 1792, 2, 16, 0, 0}), 2048);
  // 6 for each active matrix entry, the head included.
  const double products = 6.0 * (8192 * 768 + 8 * 2 * 768 * (768 + 256) + 2 * 3 * 768 * 3584 +
                                 6 * (16 * 768 + 2 * 3 * 768 * 1792));
  // Causal keys per query: six windows of 1,024 and two of 2,048.
  const double short_keys = (1024.0 * 1025 / 2 + 1024.0 * 1024) / 2048, long_keys = 2049.0 / 2;
  const double scores = 12.0 * 768 * (6 * short_keys + 2 * long_keys);
  EXPECT_NEAR(f1.flops_per_token_exact, products + scores, 1);
  EXPECT_NEAR(f1.flops_per_token_by_component.at("attention.scores"), scores, 1);
  EXPECT_NEAR(f1.flops_per_token_six_n, 6.0 * static_cast<double>(f1.parameters_active), 1);
  double sum = 0;
  for (const auto& [component, flops] : f1.flops_per_token_by_component) sum += flops;
  EXPECT_NEAR(sum, f1.flops_per_token_exact, 1);
}

TEST(Census, EqualsWhatIsAllocated) {
  const Json sigmoid = {{"kind", "sigmoid"}};
  const std::vector<ModelConfig> sweep = {
      {.pattern = "*D*E", .width = 24},
      {.pattern = "D", .width = 8},
      {.pattern = "*", .width = 36, .layers = {{"*", {{"head_size", 6}, {"kv_heads", 3}}}}},
      {.pattern = "(*E)3", .width = 44, .layers = {{"E", {{"num_experts", 5}}}}},
      {.pattern = "*D3*E", .width = 32, .layers = {{"D", {{"hidden", 17}}}}},
      {.pattern = "EE*", .width = 10, .layers = {{"E", {{"num_active", 4}, {"router", sigmoid}}}}},
      {.pattern = "*E", .width = 16, .layers = {{"E", {{"expansion", 1}, {"num_active", 1}}}}}};
  for (ModelConfig config : sweep) {
    config.context_tokens = 16;
    config = resolve(config, 37);
    const Census counts = census(config, 256);
    const LanguageModel model(config, base::RandomStream(1, "weights"));
    int64_t total = 0, inactive = 0;
    std::map<std::string, int64_t> by_component;
    for (const Parameter& parameter : model.parameters_with_roles()) {
      const int64_t count = parameter.tensor.numel();
      total += count;
      const auto parts = base::split(parameter.name, '.');
      by_component[parts.size() == 1 ? parts[0] : parts[2]] += count;
      if (parameter.role == ParameterRole::kExpertMatrices) {
        const int64_t experts = parameter.tensor.size(0);
        const int64_t active = config.layers["E"]["num_active"];
        inactive += count / experts * (experts - active);
      }
    }
    EXPECT_EQ(counts.parameters_total, total) << config.pattern;
    EXPECT_EQ(counts.parameters_active, total - inactive) << config.pattern;
    EXPECT_EQ(counts.parameters_by_component, by_component) << config.pattern;
    EXPECT_EQ(counts.weights_bytes, 4.0 * static_cast<double>(total));
    int64_t registered = 0;
    for (const auto& tensor : model.parameters()) registered += tensor.numel();
    EXPECT_EQ(registered, total) << "a parameter without a role: " << config.pattern;
  }
}

TEST(Census, MemoryGrowsWithTokensInFlightOnly) {
  const ModelConfig config = resolve({}, 512);
  const Census one = census(config, 1024), two = census(config, 2048);
  EXPECT_EQ(two.activations_bytes, 2 * one.activations_bytes);
  EXPECT_GT(two.peak_bytes() - one.peak_bytes(), one.activations_bytes);
  EXPECT_EQ(two.weights_bytes, one.weights_bytes);
  EXPECT_EQ(two.updates_bytes, one.updates_bytes);
}

TEST(Census, WithAFewTokensTheOptimizerSetsThePeak) {
  const ModelConfig config = resolve({}, 512);
  EXPECT_EQ(census(config, 1).peak_bytes(), census(config, 2).peak_bytes());
  // AdamW has two moments for a matrix instead of one, but no updates to keep.
  const Census muon = census(config, 1), adamw = census(config, 1, /*muon=*/false);
  EXPECT_GT(adamw.optimizer_bytes, muon.optimizer_bytes);
  EXPECT_EQ(adamw.updates_bytes, 0);
  EXPECT_LT(adamw.peak_bytes(), muon.peak_bytes());
}

}  // namespace
}  // namespace windtunnel::model

// The reference models of the fixed-wall study as the presets express them, held against what the
// study published.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "model/census.h"
#include "study/run_config.h"

namespace windtunnel::study {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(WINDTUNNEL_SOURCE_DIR) / "programs" / "presets";

RunConfig preset(const std::string& name) {
  const auto file = kFolder / (name + ".json");
  return resolve_run_config(base::read_json(file), file.string());
}

struct Published {
  const char* name;
  /// Millions to one place; 0 where nothing was published.
  double active, total;
  /// In the source's convention, to seven digits.
  double flops_per_token;
  int64_t steps;
};

class PublishedPreset : public testing::TestWithParam<Published> {};

TEST_P(PublishedPreset, HasThePublishedCountsAndSteps) {
  const RunConfig config = preset(GetParam().name);
  const model::Census census = model::census(config.model, config.train.tokens_per_step);
  constexpr double kRounding = 0.0501;
  if (GetParam().active > 0) {
    EXPECT_NEAR(double(census.parameters_active) / 1e6, GetParam().active, kRounding);
  }
  if (GetParam().total > 0) {
    EXPECT_NEAR(double(census.parameters_total) / 1e6, GetParam().total, kRounding);
  }
  if (GetParam().flops_per_token > 0) {
    EXPECT_NEAR(census.flops_per_token_source / GetParam().flops_per_token, 1, 5e-7);
  }
  EXPECT_EQ(planned_steps(config), GetParam().steps);
  // What the presets say is 20 tokens per active parameter, as far as the study kept to that: its
  // 14,099 steps of F2 follow from the count without the stem, its 5,800 of S75 are rounded.
  const double rule = 20 * double(census.parameters_active) / double(config.train.tokens_per_step);
  EXPECT_NEAR(double(GetParam().steps) / rule, 1, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PublishedPreset,
                         testing::Values(Published{"S75", 76.0, 368.4, 4.950451e8, 5800},
                                         Published{"F1", 91.3, 438.2, 6.046433e8, 6968},
                                         Published{"F1_nostem", 0, 553.8, 0, 6968},
                                         Published{"F1_simple", 91.3, 553.7, 0, 6968},
                                         Published{"F2", 184.8, 977.5, 1.221820e9, 14099},
                                         Published{"F3", 351.6, 2003.1, 2.282803e9, 26827},
                                         Published{"F4", 565.2, 3339.7, 3.655508e9, 43122},
                                         Published{"F5", 852.2, 0, 0, 65021}),
                         [](const auto& size) { return std::string(size.param.name); });

TEST(Presets, SparsitySweepOfTheReferenceSizeIsAnOverride) {
  const std::pair<int, double> published[] = {{4, 140.8},  {8, 239.9},   {16, 438.2},
                                              {32, 834.6}, {64, 1627.5}, {128, 3213.2}};
  for (const auto& [experts, total] : published) {
    base::Json document = base::read_json(kFolder / "F1.json");
    document["model"]["layers"]["E"]["num_experts"] = experts;
    const RunConfig config = resolve_run_config(document, "F1");
    EXPECT_NEAR(double(model::census(config.model, 2048).parameters_total) / 1e6, total, 0.0501);
  }
}

TEST(Presets, FineGrainedExpertsKeepWhatATokenVisits) {
  base::Json document = base::read_json(kFolder / "F1_nostem.json");
  const auto coarse = model::census(resolve_run_config(document, "F1").model, 2048);
  document["model"]["layers"]["E"]["num_experts"] = 32;
  document["model"]["layers"]["E"]["num_active"] = 4;
  document["model"]["layers"]["E"]["hidden"] = 896;
  const auto fine = model::census(resolve_run_config(document, "F1").model, 2048);
  using enum model::ParameterRole;
  EXPECT_EQ(fine.parameters_by_role.at(kExpertMatrices).total,
            coarse.parameters_by_role.at(kExpertMatrices).total);
  EXPECT_EQ(fine.parameters_by_role.at(kExpertMatrices).active,
            coarse.parameters_by_role.at(kExpertMatrices).active);
}

TEST(Presets, AStemIsAPrefixOfThePatternAndCanBeAskedForAsANumber) {
  base::Json document = base::read_json(kFolder / "F1_nostem.json");
  document["model"]["dense_stem"] = 2;
  EXPECT_EQ(base::to_json(resolve_run_config(document, "F1").model),
            base::to_json(preset("F1").model));
}

TEST(Presets, EverySizeHasItsTwoControls) {
  for (const std::string size : {"S75", "F1", "F2", "F3", "F4", "F5"}) {
    const RunConfig full = preset(size), all_experts = preset(size + "_nostem"),
                    simple = preset(size + "_simple");
    EXPECT_EQ(all_experts.model.pattern.find('D'), std::string::npos);
    EXPECT_EQ(all_experts.model.layers["*"], full.model.layers["*"]);
    EXPECT_EQ(simple.model.pattern, all_experts.model.pattern);
    EXPECT_EQ(simple.model.layers["*"]["value_mix"]["kind"], "none");
    EXPECT_EQ(simple.model.layers["E"]["router"]["softmax"]["load_balance"], 0.0085);
    EXPECT_EQ(full.model.layers["E"]["router"]["sigmoid"]["load_balance"], 0.003);
    for (const RunConfig* other : {&all_experts, &simple}) {
      EXPECT_EQ(base::to_json(other->train), base::to_json(full.train)) << size;
    }
  }
}

}  // namespace
}  // namespace windtunnel::study

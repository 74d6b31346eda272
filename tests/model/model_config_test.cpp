#include "model/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/kinds/attention.h"
#include "model/kinds/dense.h"
#include "model/kinds/experts.h"
#include "model/layer_kind.h"
#include "model/pattern.h"
#include "model/router_kinds/sigmoid.h"

namespace windtunnel::model {
namespace {

using base::Json;
using testing::HasSubstr;

std::string error_of(const ModelConfig& config, int64_t corpus_vocabulary = 0) {
  try {
    resolve(config, corpus_vocabulary);
    return "no error";
  } catch (const base::ConfigError& error) {
    return error.what();
  }
}

TEST(ModelConfig, ResolvedHasEveryOptionOfTheKindsInThePattern) {
  const ModelConfig resolved = resolve({.pattern = "*D*D*D*D"}, 512);
  EXPECT_EQ(resolved.pattern, "(*D)4");
  EXPECT_EQ(resolved.vocabulary_size, 512);
  EXPECT_EQ(resolved.layers.size(), 2u);
  EXPECT_EQ(resolved.layers["*"], base::to_json(AttentionOptions()));
  EXPECT_EQ(resolved.layers["D"], base::to_json(DenseOptions()));
}

TEST(ModelConfig, ResolvingTwiceChangesNothing) {
  const ModelConfig once = resolve({.layers = {{"E", {{"num_active", 1}}}}}, 300);
  EXPECT_EQ(base::to_json(resolve(once, 300)), base::to_json(once));
}

TEST(ModelConfig, EachRouterHasItsOwnDefaults) {
  const Json given = {{"E", {{"router", {{"kind", "sigmoid"}, {"sigmoid", {{"z_loss", 0}}}}}}}};
  const Json router = resolve({.layers = given}).layers["E"]["router"];
  EXPECT_EQ(router["kind"], "sigmoid");
  EXPECT_FALSE(router.contains("softmax"));
  const auto options = router_options<SigmoidRouterOptions>(router);
  EXPECT_EQ(options.z_loss, 0);
  EXPECT_EQ(options.load_balance, 0.003);
  EXPECT_EQ(resolve({}).layers["E"]["router"]["softmax"]["load_balance"], 0.0085);
}

TEST(ModelConfig, ChangingTheKindOfAResolvedRouterTakesTheNewKindsDefaults) {
  ModelConfig config = resolve({});
  config.layers["E"]["router"]["kind"] = "sigmoid";
  const Json router = resolve(config).layers["E"]["router"];
  EXPECT_EQ(router["sigmoid"], base::to_json(SigmoidRouterOptions()));
  EXPECT_FALSE(router.contains("softmax"));
}

TEST(ModelConfig, EveryBrokenRuleIsReportedAtOnce) {
  const std::string error = error_of(
      {.pattern = "*DEE",
       .width = 60,
       .layers = {{"*", {{"head_size", 16}, {"windows", "SXL"}}}, {"E", {{"num_active", 9}}}}});
  EXPECT_THAT(error, HasSubstr("model.layers.*.windows = \"SXL\": must be one or more of the "
                               "letters S and L"));
  EXPECT_THAT(error, HasSubstr("model.layers.*.head_size = 16: must divide model.width = 60"));
  EXPECT_THAT(error, HasSubstr("model.layers.E.num_active = 9: must be at most num_experts = 8"));
}

TEST(ModelConfig, SchemaAndPatternMistakesAreReportedAtOnce) {
  const std::string error =
      error_of({.pattern = "*Q", .width = 4, .layers = {{"*", {{"head_sizes", 16}}}}});
  EXPECT_THAT(error, HasSubstr("model.width = 4: must be of type integer and >= 8"));
  EXPECT_THAT(error, HasSubstr("did you mean 'model.layers.*.head_size'?"));
  EXPECT_THAT(error, HasSubstr("column 2: no layer kind has this letter"));
}

TEST(ModelConfig, HeadsMustFit) {
  EXPECT_THAT(error_of({.width = 63}), HasSubstr("no even head size divides model.width = 63"));
  EXPECT_THAT(error_of({.layers = {{"*", {{"head_size", 7}}}}}), HasSubstr("must be even"));
  EXPECT_THAT(error_of({.layers = {{"*", {{"head_size", 16}, {"kv_heads", 3}}}}}),
              HasSubstr("model.layers.*.kv_heads = 3: must divide the number of query heads, "
                        "model.width / head_size = 4"));
}

TEST(ModelConfig, ValuesAreMixedFromAnEarlierLayer) {
  const auto mix = [](int64_t from, const char* kind = "fixed") {
    return ModelConfig{.pattern = "*D*E",
                       .layers = {{"*", {{"value_mix", {{"kind", kind}, {"from_layer", from}}}}}}};
  };
  EXPECT_THAT(error_of(mix(0)), HasSubstr("model.layers.*.value_mix.from_layer = 0: must be at "
                                          "least 1: attention layer 0 makes the values"));
  EXPECT_THAT(error_of(mix(2)),
              HasSubstr("model.layers.*.value_mix.from_layer = 2: must be below the number of "
                        "attention layers in model.pattern, 2"));
  EXPECT_EQ(error_of(mix(1)), "no error");
  EXPECT_EQ(error_of(mix(0, "none")), "no error");
}

TEST(ModelConfig, AWindowFitsTheContext) {
  EXPECT_THAT(error_of({.context_tokens = 64, .layers = {{"*", {{"short_window", 65}}}}}),
              HasSubstr("model.layers.*.short_window = 65: must be at most model.context_tokens = "
                        "64"));
}

TEST(ModelConfig, AStemFitsTheStackAndBecomesPartOfThePattern) {
  EXPECT_EQ(resolve({.pattern = "(*E)4", .dense_stem = 2}).pattern, canonical_pattern("*D*D*E*E"));
  EXPECT_EQ(resolve({.pattern = "(*E)4", .dense_stem = 2}).dense_stem, 0);
  EXPECT_EQ(resolve({.pattern = "*EE*E", .dense_stem = 2}).pattern, canonical_pattern("*DD*E"));
  EXPECT_EQ(resolve({.pattern = "(*D)2*E", .dense_stem = 3}).pattern, canonical_pattern("*D*D*D"));
  EXPECT_THAT(
      error_of({.pattern = "(*E)4", .dense_stem = 5}),
      HasSubstr("model.dense_stem = 5: must be at most the number of feed-forward layers in "
                "model.pattern, 4"));
  EXPECT_THAT(error_of({.pattern = "(*D)2*E", .dense_stem = 1}),
              HasSubstr("model.dense_stem = 1: model.pattern begins with 2 dense layers already"));
}

TEST(DepthScaling, EveryPlacementIsOneInTheFirstLayerAndSmallerInTheNext) {
  const auto all = [](const DepthScales& s) {
    return std::vector<double>{s.values, s.gate, s.feed_forward, s.output};
  };
  EXPECT_EQ(depth_scaling_names().size(), 9U);
  for (const std::string& name : depth_scaling_names()) {
    EXPECT_THAT(all(depth_scales(name, 1)), testing::Each(1.0)) << name;
    const auto fourth = all(depth_scales(name, 4));
    for (const double factor : fourth) {
      EXPECT_TRUE(factor == 1 || factor == 0.5 || std::abs(factor - std::sqrt(0.5)) < 1e-12)
          << name;
    }
    EXPECT_EQ(testing::Value(fourth, testing::Each(1.0)), name == "none") << name;
  }
}

TEST(ModelConfig, VocabularyMustHoldTheCorpus) {
  EXPECT_THAT(error_of({.vocabulary_size = 256}, 512),
              HasSubstr("model.vocabulary_size = 256: must be at least the corpus's 512 tokens"));
  EXPECT_EQ(resolve({.vocabulary_size = 1024}, 512).vocabulary_size, 1024);
}

TEST(ModelConfig, SizesFollowTheWidthAndTheExperts) {
  ModelConfig config = resolve({.width = 24});
  const auto attention = attention_shape(layer_options<AttentionOptions>(config, '*'), config);
  EXPECT_EQ(attention.query_heads, 2);
  EXPECT_EQ(attention.head_size, 12);
  EXPECT_EQ(expert_hidden(layer_options<ExpertsOptions>(config, 'E'), config), 32);
  EXPECT_EQ(dense_hidden(layer_options<DenseOptions>(config, 'D'), config), 64);
  config.layers["E"]["hidden"] = 40;
  EXPECT_EQ(dense_hidden(layer_options<DenseOptions>(config, 'D'), config), 80);
  config = resolve({.pattern = "*D", .width = 48});
  EXPECT_EQ(dense_hidden(layer_options<DenseOptions>(config, 'D'), config), 128);
  config = resolve({.width = 768});
  EXPECT_EQ(attention_shape(layer_options<AttentionOptions>(config, '*'), config).head_size, 128);
}

TEST(ModelConfig, LargestLogitDoesNotDependOnTheHeadSize) {
  for (const int64_t width : {24, 96, 768}) {
    const ModelConfig config = resolve({.width = width});
    const auto shape = attention_shape(layer_options<AttentionOptions>(config, '*'), config);
    EXPECT_NEAR(shape.logit_scale_per_product * static_cast<double>(shape.head_size), 12, 1e-9);
  }
}

TEST(ModelConfig, ShortWindowsTileAndTheLastLayerSeesAll) {
  const AttentionOptions options{.windows = "SSSL"};
  std::vector<int64_t> windows;
  for (int i = 0; i < 7; ++i) {
    windows.push_back(attention_window(options, 2048, {.ordinal = i, .count = 7}));
  }
  EXPECT_EQ(windows, (std::vector<int64_t>{1024, 1024, 1024, 2048, 1024, 1024, 2048}));
}

TEST(ModelConfig, SchemaNamesEveryKindAndRouter) {
  const Json schema = layers_schema();
  EXPECT_EQ(schema["properties"].size(), LayerKinds::instance().kinds().size());
  EXPECT_EQ(schema["properties"]["E"]["properties"]["router"]["properties"]["kind"]["enum"],
            Json(RouterKinds::instance().names()));
}

TEST(LayerKind, UnknownLetterNamesTheLegalOnes) {
  try {
    layer_kind('Q');
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(),
                 "layer letter 'Q' does not exist; known: * (attention), D (dense), "
                 "E (experts)");
  }
}

}  // namespace
}  // namespace windtunnel::model

// Configurations on the command line: by which names they go, and what `windtunnel config` answers.

#include <gmock/gmock.h>

#include <map>

#include "tests/cli/command_line.h"

namespace windtunnel::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigCommand : public CommandLine {};

TEST_F(ConfigCommand, TheSchemaIsADraft7SchemaOfEveryField) {
  const base::Json schema = run({"config", "--schema"}).json();
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#");
  EXPECT_EQ(schema["additionalProperties"], false);
  const base::Json& step =
      schema["properties"]["model"]["properties"]["layers"]["properties"]["E"]["properties"]
            ["router"]["properties"]["sigmoid"]["properties"]["bias_step"];
  EXPECT_EQ(step["default"], 0.001);
  EXPECT_EQ(run({"config", "--schema", "--json"}).json(), schema);
}

TEST_F(ConfigCommand, AFieldIsExplainedWithUnitRangeDefaultAndSource) {
  const Answer answer = run({"config", "--explain", "train.tokens_per_step"});
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("train.tokens_per_step\n"), HasSubstr("integer"),
                                 HasSubstr("unit     tokens"), HasSubstr("values   >= 1"),
                                 HasSubstr("default  2048")));
  EXPECT_THAT(run({"config", "--explain", "train.optimizer.weight_decay"}).text,
              HasSubstr("arXiv:1711.05101"));
}

TEST_F(ConfigCommand, TheNameOfAKindMayBeLeftOut) {
  EXPECT_THAT(run({"config", "--explain", "model.layers.E.router.bias_step"}).text,
              HasSubstr("model.layers.E.router.sigmoid.bias_step\n"));
  const base::Json found =
      run({"config", "--explain", "model.layers.E.router.load_balance", "--json"}).json();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["path"], "model.layers.E.router.sigmoid.load_balance");
  EXPECT_EQ(found[1]["path"], "model.layers.E.router.softmax.load_balance");
  EXPECT_EQ(found[1]["schema"]["default"], 0.0085);
}

TEST_F(ConfigCommand, AChoiceSaysWhatEachKindIsAndAGroupListsItsFields) {
  EXPECT_THAT(run({"config", "--explain", "router.kind"}).text,
              AllOf(HasSubstr("sigmoid, softmax"), HasSubstr("top K of a softmax over experts")));
  EXPECT_THAT(run({"config", "--explain", "train.schedule"}).text,
              AllOf(HasSubstr("train.schedule.kind"), HasSubstr("train.schedule.warmup_fraction"),
                    HasSubstr("meaning")));
}

TEST_F(ConfigCommand, APathThatDoesNotExistIsAnsweredWithTheNearest) {
  const Answer answer = run({"config", "--explain", "model.layers.E.router.bias_stp"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.text, HasSubstr("did you mean 'model.layers.E.router.sigmoid.bias_step'?"));
  EXPECT_THAT(run({"config", "--explain", "weather"}).text,
              HasSubstr("path 'weather' does not exist; windtunnel config --explain names"));
}

TEST_F(ConfigCommand, AnOverrideWithoutTheKindsNameIsAnsweredWithTheFullPath) {
  const Answer answer = run({"config", "demo", "model.layers.E.router.bias_step=0.1"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.text,
              HasSubstr("model.layers.E.router.bias_step = 0.1: unknown key; did you mean "
                        "'model.layers.E.router.sigmoid.bias_step'?"));
}

TEST_F(ConfigCommand, AConfigurationIsPrintedResolved) {
  const base::Json config = run({"config", "demo", "model.pattern=(*D)2", "model.width=96"}).json();
  EXPECT_EQ(config["model"]["pattern"], "*D*D");
  EXPECT_EQ(config["model"]["width"], 96);
  EXPECT_EQ(config["model"]["layers"]["*"]["windows"], "L");
  EXPECT_FALSE(config["model"]["layers"].contains("E"));
}

TEST_F(ConfigCommand, TheDifferenceIsOfTheResolvedConfigurations) {
  base::write_json(folder_ / "a.json", {{"model", {{"vocabulary_size", 300}}}});
  // What is a default anyway is no difference.
  base::write_json(folder_ / "b.json",
                   {{"model", {{"vocabulary_size", 300}, {"layers", {{"D", {{"hidden", 0}}}}}}}});
  base::write_json(
      folder_ / "c.json",
      {{"model",
        {{"vocabulary_size", 300}, {"layers", {{"E", {{"router", {{"kind", "sigmoid"}}}}}}}}}});
  const std::string a = (folder_ / "a.json").string(), b = (folder_ / "b.json").string(),
                    c = (folder_ / "c.json").string();
  const Answer equal = run({"config", "--diff", a, b});
  EXPECT_EQ(equal.exit_code, 0);
  EXPECT_EQ(equal.text, "no difference\n");
  EXPECT_EQ(run({"config", "--diff", a, b, "--json"}).json(), base::Json::array());

  const Answer answer = run({"config", "--diff", a, c, "--json"});
  EXPECT_EQ(answer.exit_code, 0);
  std::map<std::string, std::pair<base::Json, base::Json>> rows;
  for (const auto& row : answer.json()) {
    rows[row["path"].get<std::string>()] = {row["a"], row["b"]};
  }
  EXPECT_EQ(rows["model.layers.E.router.kind"],
            std::pair(base::Json("softmax"), base::Json("sigmoid")));
  EXPECT_EQ(rows["model.layers.E.router.softmax.load_balance"],
            std::pair(base::Json(0.0085), base::Json(nullptr)));
  EXPECT_EQ(rows["model.layers.E.router.sigmoid.bias_step"],
            std::pair(base::Json(nullptr), base::Json(0.001)));
  EXPECT_FALSE(rows.contains("model.width"));
  EXPECT_THAT(run({"config", "--diff", a, c}).text,
              AllOf(HasSubstr("model.layers.E.router.kind"), Not(HasSubstr("model.width"))));
}

TEST_F(ConfigCommand, NeedsExactlyOneQuestion) {
  EXPECT_EQ(run({"config"}).exit_code, 2);
  EXPECT_THAT(run({"config", "demo", "--schema"}).text, HasSubstr("config needs one of"));
}

TEST_F(ConfigCommand, PresetsGoByNameAndAreListed) {
  const std::map<std::string, std::string> home = {{"WINDTUNNEL_HOME", folder_.path().string()}};
  base::write_json(folder_ / "programs/presets/tiny.json",
                   {{"model", {{"width", 24}, {"vocabulary_size", 300}}}});
  for (const char* name : {"tiny", "presets/tiny", "programs/presets/tiny.json"}) {
    EXPECT_EQ(run({"config", name}, home).json()["model"]["width"], 24) << name;
    EXPECT_EQ(run({"census", name, "--json"}, home).exit_code, 0) << name;
  }
  const base::Json presets = run({"list", "presets", "--json"}, home).json();
  ASSERT_EQ(presets.size(), 1u);
  EXPECT_EQ(presets[0]["name"], "tiny");
  const Answer missing = run({"config", "tinny"}, home);
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.text, AllOf(HasSubstr("configuration 'tinny' does not exist"),
                                  HasSubstr("a preset (tiny)")));
}

TEST_F(ConfigCommand, EveryPresetThatComesWithTheProgramResolves) {
  for (const auto& preset : run({"list", "presets", "--json"}).json()) {
    const Answer answer = run({"config", preset["name"]});
    EXPECT_EQ(answer.exit_code, 0) << answer.text;
  }
}

}  // namespace
}  // namespace windtunnel::cli

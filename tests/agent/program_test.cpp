#include "agent/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "agent/proposer.h"
#include "agent/research_space.h"
#include "model/census.h"
#include "tests/agent/small_program.h"

namespace windtunnel::agent {
namespace {

using ::testing::HasSubstr;
using testing::small_markdown;
using testing::small_program;
using ::testing::StartsWith;

std::string error_of(const std::string& markdown) {
  try {
    parse_program(markdown, "small.md");
  } catch (const base::Error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_with(const std::string& key, const std::string& line) {
  return error_of(small_markdown({{key, line}}));
}

TEST(Program, ReadsFrontMatterAndProse) {
  const Program program = small_program();
  EXPECT_EQ(program.name, "small");
  EXPECT_EQ(program.night.experiments, 4);
  EXPECT_EQ(program.night.max_consecutive_failures, 5);
  EXPECT_EQ(program.mutable_paths.size(), 3u);
  EXPECT_EQ(program.prose, "# A small study\n\nFind out what helps.");
  EXPECT_EQ(program.proposers[0], (base::Json{{"kind", "random"}, {"share", 1}}));
}

TEST(Program, SurvivesARoundTripThroughTheJournalsJson) {
  const Program program = small_program();
  const base::Json json = base::to_json(program);
  EXPECT_EQ(base::to_json(base::from_json<Program>(json, "journal")), json);
}

TEST(Program, UnknownKeyIsNamedWithItsLineAndTheNearestOne) {
  EXPECT_EQ(error_with("night:", "nigth: {experiments: 4}"),
            "small.md line 5: nigth = {\"experiments\":4}: unknown key; did you mean 'night'?");
}

TEST(Program, ABudgetOfZeroIsRefused) {
  EXPECT_THAT(error_with("base:", "base: {train: {budget: {amount: 0}}}"),
              StartsWith("small.md line 4: base.train.budget.amount = 0: must be"));
  EXPECT_THAT(error_with("night:", "night:\n  seed: 3\n  experiments: 0"),
              StartsWith("small.md line 7: night.experiments = 0: must be"));
}

TEST(Program, IllegalPatternLetterShowsTheCaretOfThePattern) {
  const std::string text = error_with("base:", "base: {model: {pattern: '*Q', width: 16}}");
  EXPECT_THAT(text, StartsWith("small.md line 4: base.model.pattern"));
  EXPECT_THAT(text, HasSubstr("^"));
}

TEST(Program, MutablePathThatDoesNotExistNamesTheNearestOne) {
  EXPECT_EQ(
      error_with("  - {path: train", "  - {path: train.optimiser.learning_rate, choices: [1]}"),
      "small.md line 7: mutable.0.path = \"train.optimiser.learning_rate\": is no path of a "
      "run configuration; did you mean 'train.optimizer.learning_rate'?");
  EXPECT_THAT(error_with("  - {path: train", "  - {path: optimizer.learning_rate, choices: [1]}"),
              HasSubstr("did you mean 'train.optimizer.learning_rate'?"));
}

TEST(Program, FrozenPathThatDoesNotExistIsRefused) {
  EXPECT_THAT(error_with("frozen:", "frozen: [model.widht]"),
              HasSubstr("line 10: frozen.0 = \"model.widht\": is no path of a run configuration; "
                        "did you mean 'model.width'?"));
}

TEST(Program, MutablePathThatIsFrozenIsRefused) {
  EXPECT_THAT(error_with("frozen:", "frozen: [train.optimizer]"),
              HasSubstr("mutable.0.path = \"train.optimizer.learning_rate\": is frozen by "
                        "'train.optimizer'; remove one of the two"));
  EXPECT_THAT(error_with("  - {path: train", "  - {path: train.seed, minimum: 1, maximum: 9}"),
              HasSubstr("'train.seed' decides what is compared and is always frozen"));
}

TEST(Program, MutablePathNeedsARangeOrChoicesThatTheSchemaAllows) {
  EXPECT_THAT(error_with("  - {path: train", "  - {path: train.optimizer.learning_rate}"),
              HasSubstr("must have either `choices` or both `minimum` and `maximum`"));
  EXPECT_THAT(error_with("  - {path: train",
                         "  - {path: train.optimizer.learning_rate, minimum: 0.1, maximum: 20}"),
              HasSubstr("mutable.0.maximum = 20: must be"));
  EXPECT_THAT(error_with("  - {path: train",
                         "  - {path: train.optimizer.learning_rate, minimum: 0.1, maximum: 0.01}"),
              HasSubstr("mutable.0.minimum = 0.1: must be below maximum = 0.01"));
  EXPECT_THAT(error_with("  - {path: train", "  - {path: train.schedule.kind, choices: [linear]}"),
              HasSubstr("mutable.0.choices.0 = \"linear\": must be one of"));
  EXPECT_THAT(error_with("  - {path: train", "  - {path: train.optimizer, choices: [1]}"),
              HasSubstr("is a group of settings; name one setting below it"));
}

TEST(Program, ChoicesOfTheSchemaAreFilledIn) {
  const Program program =
      small_program({{"  - {path: train", "  - {path: train.optimizer.matrices}"}});
  EXPECT_EQ(program.mutable_paths[0].choices, (std::vector<base::Json>{"muon", "adamw"}));
}

TEST(Program, TheHarnessOwnsSeedAndCorpus) {
  EXPECT_THAT(error_with("base:", "base: {train: {seed: 3}}"),
              HasSubstr("base.train.seed = 3: is filled in by the harness; remove it"));
}

TEST(Program, QueueEntriesAreCheckedAgainstTheSpace) {
  const auto queue = [](const std::string& patch) {
    return "queue:\n  - hypothesis: h\n    diagnostic: d\n    prediction: {interval_low: -1, "
           "interval_high: 1}\n    patch: {" +
           patch + "}";
  };
  EXPECT_EQ(error_with("queue:", queue("train.optimizer.learning_rate: 0.5")),
            "small.md line 16: queue.0.patch.train.optimizer.learning_rate = 0.5: must be a number "
            ">= 0.005 and <= 0.1");
  EXPECT_THAT(error_with("queue:", queue("model.context_tokens: 64")),
              HasSubstr("queue.0.patch.model.context_tokens = 64: is not one of the mutable paths: "
                        "train.optimizer.learning_rate, "));
  EXPECT_THAT(error_with("queue:", queue("train.seed: 4")), HasSubstr("is frozen by 'train.seed'"));
  EXPECT_EQ(error_with("queue:", queue("model.pattern: '*E*E'")), "no error");
}

TEST(Program, QueueEntriesNeedWordsAndAnInterval) {
  const std::string text = error_with(
      "queue:", "queue: [{patch: {model.pattern: '*E*E'}, prediction: {delta_bits_per_byte: 1}}]");
  EXPECT_THAT(text, HasSubstr("queue.0.hypothesis = missing: must be one sentence"));
  EXPECT_THAT(text, HasSubstr("queue.0.diagnostic = missing"));
  EXPECT_THAT(text, HasSubstr("interval_low <= delta_bits_per_byte <= interval_high"));
}

TEST(Program, ProposersAreCheckedAgainstTheirOwnOptions) {
  EXPECT_THAT(error_with("proposers:", "proposers: [{kind: oracle}]"),
              HasSubstr("proposers.0.kind = \"oracle\": must be one of best_of_n, language_model, "
                        "literature, local_search, queue, "
                        "random"));
  EXPECT_THAT(error_with("proposers:", "proposers: [{kind: random, temperature: 1}]"),
              HasSubstr("proposers.0.temperature = 1: unknown key"));
  EXPECT_THAT(error_with("proposers:", "proposers: [{kind: language_model, model: m}]"),
              HasSubstr("proposers.0.endpoint = \"\": must be given, or endpoint_variable"));
  EXPECT_THAT(error_with("proposers:",
                         "proposers: [{kind: language_model, model: m, endpoint: "
                         "'http://me:secret@host/v1'}]"),
              HasSubstr("must not hold a user name or password"));
  EXPECT_THAT(error_with("proposers:", "proposers: []"), HasSubstr("must name at least one of"));
}

TEST(Program, AllProblemsAreToldAtOnceInTheOrderOfTheFile) {
  const std::string text =
      error_of(small_markdown({{"name:", "name: 'a b'"}, {"frozen:", "frozen: [nothing]"}}));
  EXPECT_THAT(text, StartsWith("small.md: 2 problems\n  line 2: name = \"a b\": must be given, of "
                               "letters"));
  EXPECT_THAT(text, HasSubstr("\n  line 10: frozen.0"));
}

TEST(FrontMatter, BrokenYamlIsNamedWithLineAndColumn) {
  EXPECT_THAT(error_with("night:", "night: {experiments: 4"), HasSubstr("not valid YAML"));
  EXPECT_THAT(error_with("night:", "night: {experiments: 4"), StartsWith("small.md line "));
}

TEST(FrontMatter, AKeyGivenTwiceIsRefused) {
  EXPECT_EQ(error_with("night:", "name: other"), "small.md line 5: name is given twice");
}

TEST(FrontMatter, MissingFencesAreNamed) {
  EXPECT_EQ(error_of("# prose\n"),
            "small.md line 1: a program starts with a line of --- and its YAML front matter");
  EXPECT_EQ(error_of("---\nname: x\n"),
            "small.md: the front matter has no end; close it with a line of ---");
}

TEST(FrontMatter, ExpandingAliasesForEverIsRefused) {
  std::string bomb = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  EXPECT_THAT(error_of(bomb + "---\n"), HasSubstr("one of more than 100,000 values"));
}

TEST(FrontMatter, WindowsLineEndsReadTheSame) {
  std::string text = small_markdown();
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\r\n");
  }
  EXPECT_EQ(parse_program(text, "small.md").name, "small");
}

TEST(ResearchSpace, OptionsOfUnusedLayersComeFromTheBase) {
  const Program program =
      small_program({{"base:",
                      "base: {model: {pattern: '*D*E', width: 16, context_tokens: 32, layers: {E: "
                      "{num_experts: 16}}}, train: {tokens_per_step: 256}}"}});
  const base::Json baseline = testing::baseline_of(program);
  const Candidate dense = make_candidate(program, baseline, {{"model.pattern", "*D*D"}});
  ASSERT_TRUE(dense.config) << dense.problem;
  const Candidate back = make_candidate(program, dense.resolved, {{"model.pattern", "*D*E"}});
  ASSERT_TRUE(back.config) << back.problem;
  EXPECT_EQ(back.resolved["model"]["layers"]["E"]["num_experts"], 16);
  EXPECT_FALSE(back.resolved["train"].contains("seed"));
}

TEST(Programs, EveryShippedProgramIsValid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WINDTUNNEL_SOURCE_DIR "/programs")) {
    if (entry.path().extension() != ".md" || entry.path().stem() == "README") continue;
    EXPECT_NO_THROW({
      const Program program = read_program(entry.path());
      EXPECT_EQ(program.name, entry.path().stem().string());
      EXPECT_FALSE(program.prose.empty());
    }) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 3);
}

// Millions of active and total parameters as published with the 450-second study, to one digit.
TEST(Programs, FixedWallSizesHaveThePublishedParameters) {
  const Program program = read_program(WINDTUNNEL_SOURCE_DIR "/programs/fixed_wall_450s.md");
  const scaling::LadderPlan plan =
      scaling::plan_ladder(study::resolve_run_config(program.base, "base"), program.ladder);
  struct Published {
    std::string name;
    double active, total;
  };
  const std::vector<Published> published = {{"S75", 76.0, 368.4},  {"F1", 91.3, 438.2},
                                            {"F2", 184.8, 977.5},  {"F3", 351.6, 2003.1},
                                            {"F4", 565.2, 3339.7}, {"F5", 852.2, 0}};
  constexpr double kRounding = 0.0501;
  ASSERT_EQ(plan.rungs.size(), published.size());
  for (size_t i = 0; i < published.size(); ++i) {
    const Published& size = published[i];
    const auto active = static_cast<double>(plan.rungs[i].parameters_active);
    EXPECT_EQ(plan.rungs[i].name, size.name);
    EXPECT_NEAR(active / 1e6, size.active, kRounding) << size.name;
    if (size.total > 0) {
      const auto total = static_cast<double>(plan.rungs[i].parameters_total);
      EXPECT_NEAR(total / 1e6, size.total, kRounding) << size.name;
    }
  }
  EXPECT_TRUE(plan.rungs.back().held_out);
}

scaling::LadderPlan source_ladder() {
  const Program program = read_program(WINDTUNNEL_SOURCE_DIR "/programs/source_ladder.md");
  return scaling::plan_ladder(study::resolve_run_config(program.base, "base"), program.ladder);
}

TEST(Programs, TheSourceLadderHasThePublishedTokensAndSteps) {
  struct Published {
    std::string name;
    double billion_tokens;
    int64_t steps;
  };
  const std::vector<Published> published = {{"S75", 1.519, 5800},  {"F1", 1.827, 6968},
                                            {"F2", 3.696, 14099},  {"F3", 7.033, 26827},
                                            {"F4", 11.304, 43122}, {"F5", 17.045, 65021}};
  const scaling::LadderPlan plan = source_ladder();
  ASSERT_EQ(plan.rungs.size(), published.size() + 6);
  for (size_t i = 0; i < published.size(); ++i) {
    const scaling::PlannedRung& rung = plan.rungs[i];
    EXPECT_EQ(rung.name, published[i].name);
    EXPECT_EQ(rung.curve, "full");
    EXPECT_EQ(rung.steps, published[i].steps) << rung.name;
    EXPECT_NEAR(rung.target_tokens / 1e9, published[i].billion_tokens, 0.0005) << rung.name;
    EXPECT_EQ(rung.tokens, rung.steps * 262144);
    EXPECT_EQ(rung.runs, 3);
  }
}

// The same models as the presets, which were held against the published counts one by one.
TEST(Programs, EveryRungOfTheSourceLadderIsThePresetOfItsName) {
  for (const scaling::PlannedRung& rung : source_ladder().rungs) {
    std::string preset = rung.name;
    std::replace(preset.begin(), preset.end(), '-', '_');
    const study::RunConfig wanted = study::resolve_run_config(
        base::read_json(WINDTUNNEL_SOURCE_DIR "/programs/presets/" + preset + ".json"), preset);
    const auto config = base::from_json<study::RunConfig>(rung.config, rung.name);
    EXPECT_EQ(config.model.pattern, wanted.model.pattern) << preset;
    EXPECT_EQ(study::census_of(config).parameters_by_component,
              study::census_of(wanted).parameters_by_component)
        << preset;
    EXPECT_EQ(config.train.schedule.warmup_steps, wanted.train.schedule.warmup_steps);
    EXPECT_EQ(config.train.schedule.estimated_steps, wanted.train.schedule.estimated_steps)
        << preset;
    EXPECT_EQ(config.train.tokens_per_step, wanted.train.tokens_per_step);
    EXPECT_EQ(study::planned_steps(config), study::planned_steps(wanted)) << preset;
  }
}

}  // namespace
}  // namespace windtunnel::agent

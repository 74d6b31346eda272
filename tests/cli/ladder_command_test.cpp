// `windtunnel ladder` as a stranger types it: it really trains, at sizes of seconds.

#include <gmock/gmock.h>

#include "base/random.h"
#include "tests/cli/command_line.h"

namespace windtunnel::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LadderCommand : public CommandLine {
 protected:
  void SetUp() override {
    // Letters at random: no rate of a grid is so much better than another that it looks broken.
    base::RandomStream random(1, "letters");
    for (int file = 0; file < 30; ++file) {
      std::string text;
      for (int letter = 0; letter < 2000; ++letter) {
        text +=
            random.below(6) == 0 ? ' ' : static_cast<char>('a' + random.below(5) * random.below(6));
      }
      base::write_file_atomic(folder_ / ("text/" + std::to_string(file)), text);
    }
    ASSERT_EQ(run({"corpus", "--files", (folder_ / "text/*").string(), "--out",
                   (folder_ / "corpus").string(), "--vocabulary", "280"})
                  .exit_code,
              0);
    write_program("learning_rates: {tune: none}");
  }

  void write_program(const std::string& ladder_line) {
    write_program_with(R"(ladder:
  tokens_per_parameter: 1
  )" + ladder_line + R"(
  curve: dense
  rungs:
    - {name: w8, patch: {model.width: 8}}
    - {name: w12, patch: {model.width: 12}}
    - {name: w16, patch: {model.width: 16}}
    - {name: w20, patch: {model.width: 20}}
    - {name: w24, patch: {model.width: 24}}
    - {name: w32, patch: {model.width: 32}, held_out: true}
  variants:
    - {name: deep, patch: {model.pattern: "*D*D"}, rungs: [w8, w12]}
)");
  }

  void write_program_with(const std::string& ladder) {
    base::write_file_atomic(folder_ / "tiny.md", R"(---
name: tiny
corpus: {folder: ")" + (folder_ / "corpus").string() +
                                                     R"("}
slots: 2
base:
  model: {pattern: "*D", width: 8, context_tokens: 32, layers: {"*": {kv_heads: 1, head_size: 4}}}
  train:
    tokens_per_step: 256
    optimizer: {learning_rate: 0.01}
proposers: [{kind: queue}]
)" + ladder + R"(---

# Tiny
)");
  }

  Answer ladder(std::vector<std::string> more, const std::string& study = "study") {
    std::vector<std::string> command = {"ladder", (folder_ / "tiny.md").string(), "--study",
                                        (folder_ / study).string()};
    command.insert(command.end(), more.begin(), more.end());
    return run(command);
  }
};

TEST_F(LadderCommand, ADryRunSaysWhatEveryRungCostsAndOnWhatThatRests) {
  const Answer text = ladder({"--dry-run"});
  ASSERT_EQ(text.exit_code, 0) << text.text;
  for (const char* words : {"target", "steps", "C = 6ND", "memory", "epochs", "w12-deep",
                            "held out", "8 runs, 1 tokens per active parameter, about",
                            "FLOP/s of one run, assumed for 1 CPU thread",
                            "epochs: no run reads any of its text twice"}) {
    EXPECT_THAT(text.text, HasSubstr(words));
  }
  const base::Json plan = ladder({"--dry-run", "--json"}).json()["ladder"];
  EXPECT_EQ(plan["rungs"].size(), 8u);
  EXPECT_EQ(plan["speed"]["is_measured"], false);
  EXPECT_GT(plan["rungs"][0]["epochs"].get<double>(), 0);
  EXPECT_FALSE(fs::exists(folder_ / "study"));
}

TEST_F(LadderCommand, TrainsTunesAndPairsAndGoesOnWhereItWas) {
  write_program("learning_rates: {tune: fitted, extensions: 1}");
  const Answer first = ladder({"--json"});
  ASSERT_EQ(first.exit_code, 0) << first.text;
  const base::Json done = first.json();
  ASSERT_EQ(done["ladder"]["rungs"].size(), 8u);
  for (const base::Json& rung : done["ladder"]["rungs"]) {
    EXPECT_EQ(rung["state"], "done") << rung.dump(2);
    EXPECT_EQ(rung["tried"].size() >= 3, rung["held_out"] == false) << rung.dump(2);
    EXPECT_GT(rung["epochs"].get<double>(), 0);
  }
  EXPECT_EQ(done["ladder"]["pairs"].size(), 2u);
  ASSERT_EQ(done["ladder"]["gains"].size(), 1u);
  EXPECT_EQ(done["ladder"]["gains"][0]["changed"], "deep");
  EXPECT_EQ(run({"gains", (folder_ / "study").string(), "--json"}).json(), done["ladder"]["gains"]);
  EXPECT_EQ(done["fit"]["held_out"].size(), 1u);
  const Answer again = ladder({"--json"});
  ASSERT_EQ(again.exit_code, 0) << again.text;
  EXPECT_EQ(again.json()["ladder"], done["ladder"]);
  EXPECT_EQ(again.json()["fit"], done["fit"]);
  const base::Json plan = ladder({"--dry-run", "--json"}).json()["ladder"];
  EXPECT_EQ(plan["speed"]["is_measured"], true);
}

TEST_F(LadderCommand, ThePlannedRungIsALadderAsItStandsAndItsForecastIsScored) {
  const std::string study = (folder_ / "study").string();
  ASSERT_EQ(ladder({}).exit_code, 0);
  EXPECT_EQ(run({"plan", study}).exit_code, 2);
  const Answer planned = run({"plan", study, "--compute", "1e13"});
  ASSERT_EQ(planned.exit_code, 0) << planned.text;
  EXPECT_THAT(planned.text, HasSubstr("not trained yet"));
  const size_t begin = planned.text.find("ladder:\n");
  ASSERT_NE(begin, std::string::npos) << planned.text;
  write_program_with(planned.text.substr(begin, planned.text.find("\n\n", begin) + 1 - begin));
  const Answer longer = ladder({"--json"});
  ASSERT_EQ(longer.exit_code, 0) << longer.text;
  EXPECT_EQ(longer.json()["ladder"]["rungs"].size(), 9u);
  const base::Json forecasts = run({"plan", study, "--json"}).json()["forecasts"];
  ASSERT_EQ(forecasts.size(), 1u);
  EXPECT_TRUE(forecasts[0]["measured"].is_number());
  EXPECT_TRUE(forecasts[0]["covered"].is_boolean());
  EXPECT_THAT(base::read_file(folder_ / "study/report.html"),
              HasSubstr("predicted before they were added to the ladder"));
}

TEST_F(LadderCommand, JobsWrittenOutAndRunElsewhereEndAsTheLadderRunHere) {
  const std::string jobs = (folder_ / "jobs").string();
  const Answer written = ladder({"--write-jobs", jobs});
  ASSERT_EQ(written.exit_code, 0) << written.text;
  EXPECT_THAT(written.text, HasSubstr("8 runs to do, 0 ended, 0 rungs follow from these"));
  const Answer early = ladder({});
  EXPECT_EQ(early.exit_code, 1);
  EXPECT_THAT(early.text, HasSubstr("8 runs are written out as jobs and have not ended"));
  const base::ExitStatus status = base::run_child(
      {.command = {"bash", jobs + "/array.sh"}, .output_file = folder_ / "array.log"},
      std::chrono::minutes(2));
  ASSERT_TRUE(status.ok()) << base::read_file(folder_ / "array.log");
  const Answer taken = ladder({"--write-jobs", jobs});
  EXPECT_THAT(taken.text, HasSubstr("all 8 runs have ended"));
  const Answer elsewhere = ladder({"--json"});
  ASSERT_EQ(elsewhere.exit_code, 0) << elsewhere.text;
  EXPECT_THAT(elsewhere.text, Not(HasSubstr("tokens/s"))) << "nothing is trained again";
  const Answer here = ladder({"--json"}, "here");
  ASSERT_EQ(here.exit_code, 0) << here.text;
  EXPECT_EQ(elsewhere.json()["ladder"], here.json()["ladder"]);
  EXPECT_EQ(elsewhere.json()["fit"]["parameters"], here.json()["fit"]["parameters"]);
}

TEST_F(LadderCommand, AnotherCorpusInTheSamePlaceIsRefused) {
  ASSERT_EQ(ladder({"--write-jobs", (folder_ / "jobs").string()}).exit_code, 0);
  fs::remove_all(folder_ / "corpus");
  ASSERT_EQ(run({"corpus", "--files", (folder_ / "text/1*").string(), "--out",
                 (folder_ / "corpus").string(), "--vocabulary", "280"})
                .exit_code,
            0);
  const Answer refused = ladder({});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.text, HasSubstr("was begun on another corpus"));
}

}  // namespace
}  // namespace windtunnel::cli

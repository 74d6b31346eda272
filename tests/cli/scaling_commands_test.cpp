// `gains`, `sweep` and the laws of tuned quantities on tables, as a stranger types them.

#include <gmock/gmock.h>

#include <cmath>

#include "tests/cli/command_line.h"

namespace windtunnel::cli {
namespace {

using ::testing::HasSubstr;

class ScalingCommands : public CommandLine {
 protected:
  std::string table(const std::string& name, const std::string& text) {
    base::write_file_atomic(folder_ / name, text);
    return (folder_ / name).string();
  }
};

/// The fixed-wall study's pairs of three sizes.
const char* const kPairs =
    "recipe,size,params,tokens,bpb\n"
    "full,S75,76e6,1.5e9,0.902337\nfull,F1,91e6,1.8e9,0.892152\nfull,F2,185e6,3.7e9,0.821625\n"
    "simple,S75,76e6,1.5e9,0.916017\nsimple,F1,91e6,1.8e9,0.892165\n"
    "simple,F2,185e6,3.7e9,0.844628\n";
const char* const kMap = "arm=recipe,size=size,N=params,D=tokens,L=bpb";

TEST_F(ScalingCommands, GainsSaysItsVerdictItsRuleAndWhatIsMissing) {
  const std::string file = table("pairs.csv", kPairs);
  const Answer text = run({"gains", file, "--map", kMap, "--base", "simple"});
  ASSERT_EQ(text.exit_code, 0) << text.text;
  for (const char* words :
       {"full against simple: undecided", "trend: +", "per e-fold of C",
        "compute gain: the factor of C over which power_c of simple",
        "note: whether the learning rates were tuned is not recorded", "rule: gain = ln("}) {
    EXPECT_THAT(text.text, HasSubstr(words));
  }
  const base::Json json = run({"gains", file, "--map", kMap, "--base", "simple", "--json"}).json();
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["sizes"].size(), 3u);
  EXPECT_NEAR(json[0]["sizes"][0]["gain"].get<double>(), std::log(0.916017 / 0.902337), 1e-12);
  const base::Json sure =
      run({"gains", file, "--map", kMap, "--base", "simple", "--noise", "0.05", "--json"}).json();
  EXPECT_EQ(sure[0]["trend"]["noise_source"], "given");
}

TEST_F(ScalingCommands, GainsWithoutArmsOrABaselineSaysWhatToGive) {
  const std::string file = table("pairs.csv", kPairs);
  const Answer no_base = run({"gains", file, "--map", kMap});
  EXPECT_EQ(no_base.exit_code, 2);
  EXPECT_THAT(no_base.text, HasSubstr("--base says which arm is the baseline; there are full, "
                                      "simple"));
  const Answer no_arms = run({"gains", file, "--map", "N=params,D=tokens,L=bpb"});
  EXPECT_EQ(no_arms.exit_code, 2);
  EXPECT_THAT(no_arms.text, HasSubstr("--map arm=COLUMN says which column tells the arms apart"));
  const Answer unknown = run({"gains", file, "--map", kMap, "--base", "plain"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.text, HasSubstr("no row is of arm 'plain'; there are full, simple"));
}

TEST_F(ScalingCommands, WhatCannotBeReadIsWrongUseAndNamed) {
  const std::string file = table("pairs.csv", kPairs);
  const std::string fit = table("fit.json", R"({"law": "loss_nd", "parameters": {}})");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"fit", file, "--map", "N=params,D=tokens,L=bpb", "--law", "nope"},
       "--law nope must be one of batch_c, "},
      {{"fit", file, "--map", "N=params,D=tokens,L=loss"}, "has no column 'loss'"},
      {{"fit", file, "--map", "N=params,D=tokens,L=bpb", "--where", "N<1e9 AND D>1"},
       "'1e9 AND D>1' is not a number"},
      {{"fit", file, "--map", "N=params,D=tokens,L=bpb", "--where", "N>1e12"},
       "is left to fit (6 left out: not N>1e12)"},
      {{"fit", "no.csv", "--map", "C=c,L=l"}, "file no.csv does not exist"},
      {{"fit", file, "--map", "N=params,D=tokens,L=bpb", "--noise", "nan"},
       "'nan' must be a number above 0"},
      {{"gains", file, "--map", kMap, "--base", "simple", "--law", "nope"}, "--law nope must be"},
      {{"plan", fit, "--compute", "1e20"}, "lacks rows of law loss_nd"},
      {{"plan", fit, "--compute", "inf"}, "must be a number above 0"},
      {{"sweep", "no.csv", "--over", "x", "--loss", "l"}, "'no.csv' does not exist"}};
  for (const auto& [arguments, words] : cases) {
    const Answer answer = run(arguments);
    EXPECT_EQ(answer.exit_code, 2) << words;
    EXPECT_THAT(answer.text, HasSubstr(words));
  }
}

TEST_F(ScalingCommands, ADryRunShowsTheRowsThatAFitWouldSeeAsJsonToo) {
  const std::string file = table("pairs.csv", kPairs);
  const Answer answer =
      run({"fit", file, "--map", "N=params,D=tokens,L=bpb", "--dry-run", "--json"});
  EXPECT_EQ(answer.json()["rows"].size(), 6u);
}

TEST_F(ScalingCommands, SweepFindsTheBottomOfAUAndItsInterval) {
  std::string text = "num_experts,bpb\n";
  const double off[] = {3e-4, -2e-4, 1e-4, -3e-4, 2e-4, -1e-4};
  int i = 0;
  for (const double experts : {4.0, 8.0, 16.0, 32.0, 64.0, 128.0}) {
    const double u = std::log(experts / 16);
    text += std::to_string(experts) + "," + std::to_string(0.938 + 0.008 * u * u + off[i++]) + "\n";
  }
  const std::string file = table("experts.csv", text);
  const base::Json json =
      run({"sweep", file, "--over", "num_experts", "--loss", "bpb", "--json"}).json();
  EXPECT_EQ(json["verdict"], "interior");
  EXPECT_EQ(json["best_tried"], 16);
  EXPECT_LT(json["minimum_interval"]["low"].get<double>(), 16.5);
  EXPECT_GT(json["minimum_interval"]["high"].get<double>(), 15.5);
  const Answer answer = run({"sweep", file, "--over", "num_experts"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.text, HasSubstr("--loss says which column is the loss"));
  EXPECT_THAT(run({"sweep", file, "--over", "experts", "--loss", "bpb"}).text,
              HasSubstr("num_experts"));
}

TEST_F(ScalingCommands, ALawOfLearningRatesIsFittedToTheOptimaOfATable) {
  std::string text = "N,D,lr,loss\n";
  for (const double n : {1e7, 3e7, 9e7, 27e7}) {
    const double best = 2 * std::pow(n, -0.4);
    for (const double factor : {0.4, 1.2, 3.6}) {
      text += std::to_string(n) + "," + std::to_string(20 * n) + "," +
              std::to_string(best * factor) + "," +
              std::to_string(3 + 0.1 * std::pow(std::log(factor), 2)) + "\n";
    }
  }
  const Answer answer = run({"fit", table("rates.csv", text), "--map", "N=N,D=D,lr=lr,L=loss",
                             "--law", "rate_n", "--no-gate", "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.text;
  EXPECT_NEAR(answer.json()["parameters"]["a"].get<double>(), 0.4, 0.01);
  EXPECT_EQ(answer.json()["diagnostics"]["rows"], 4);
}

}  // namespace
}  // namespace windtunnel::cli

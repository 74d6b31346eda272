// Weights in and out as a person does it: a run, its export, a run of the export.

#include <gmock/gmock.h>

#include "tests/cli/command_line.h"
#include "tests/support/tiny_corpus.h"

namespace windtunnel::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class WeightsCommands : public CommandLine {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// The changes to the demo that make it small.
  std::vector<std::string> small() const {
    return {"data.corpus=" + path("corpus"), "model.width=16", "model.context_tokens=32",
            "train.tokens_per_step=128", "train.budget={\"kind\": \"steps\", \"amount\": 5}"};
  }

  Answer run_with_small(std::vector<std::string> command) {
    for (const std::string& change : small()) command.push_back(change);
    return run(command);
  }

  void write_ids(const std::string& rows) { base::write_file_atomic(folder_ / "ids.json", rows); }
};

TEST_F(WeightsCommands, ARunIsExportedImportedAndScoredAlike) {
  tests::write_tiny_corpus(folder_ / "corpus");
  const Answer trained =
      run_with_small({"run", "demo", "--study", path("study"), "--name", "r", "--json"});
  ASSERT_EQ(trained.exit_code, 0) << trained.text;
  const std::string run_folder = path("study/runs/r");
  const Answer exported = run({"export", run_folder, "--out", path("weights")});
  ASSERT_EQ(exported.exit_code, 0) << exported.text;
  EXPECT_EQ(base::read_json(folder_ / "weights/config.json"),
            base::read_json(fs::path(run_folder) / "config.json"));
  const Answer imported = run({"import", path("weights"), "--out", path("imported")});
  ASSERT_EQ(imported.exit_code, 0) << imported.text;
  const Answer evaluated = run({"evaluate", path("imported"), "--json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.text;
  EXPECT_EQ(evaluated.json()["bits_per_byte"], trained.json()["evaluation"]["bits_per_byte"]);
  EXPECT_EQ(run({"generate", path("imported"), "--tokens", "3", "--prompt", "the"}).exit_code, 0);

  // The same ids give the same bytes, from the run, its export and the import.
  write_ids("[[1, 2, 3, 4], [250, 0, 256, 7]]");
  std::vector<std::string> logits, gradients;
  for (const std::string& from : {run_folder, path("weights"), path("imported")}) {
    const Answer scored =
        run({"score", from, "--tokens", path("ids.json"), "--logits", path("logits.safetensors")});
    ASSERT_EQ(scored.exit_code, 0) << scored.text;
    logits.push_back(base::read_file(folder_ / "logits.safetensors"));
    const Answer stepped = run({"step", from, "--tokens", path("ids.json"), "--gradients",
                                path("gradients.safetensors"), "--json"});
    ASSERT_EQ(stepped.exit_code, 0) << stepped.text;
    EXPECT_GT(stepped.json()["loss_nats_per_token"], 0);
    EXPECT_GT(stepped.json()["auxiliary_loss"], 0);
    gradients.push_back(base::read_file(folder_ / "gradients.safetensors"));
  }
  // A header, then 2 rows of 4 positions over 257 tokens.
  EXPECT_GT(logits[0].size(), 2u * 4 * 257 * 4);
  EXPECT_THAT(logits[0].substr(0, 200), HasSubstr("\"shape\":[2,4,257]"));
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_TRUE(logits[i] == logits[0]) << i;
    EXPECT_TRUE(gradients[i] == gradients[0]) << i;
  }
  EXPECT_FALSE(fs::exists(folder_ / "weights/evaluation.json"));
}

TEST_F(WeightsCommands, InitialWeightsNeedAVocabularyAndNoCorpus) {
  const Answer without = run({"init", "demo", "--out", path("start"), "data.corpus="});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.text, AllOf(HasSubstr("model.vocabulary_size = 0"),
                                  HasSubstr("add model.vocabulary_size=1024")));
  EXPECT_FALSE(fs::exists(folder_ / "start"));
  const Answer with =
      run({"init", "demo", "--out", path("start"), "data.corpus=", "model.vocabulary_size=300"});
  ASSERT_EQ(with.exit_code, 0) << with.text;
  write_ids("[[299]]");
  EXPECT_EQ(run({"score", path("start"), "--tokens", path("ids.json"), "--logits",
                 path("logits.safetensors")})
                .exit_code,
            0);
}

TEST_F(WeightsCommands, IdsThatTheModelCannotReadAreNamedAndNothingIsWritten) {
  ASSERT_EQ(run({"init", "demo", "--out", path("start"), "data.corpus=", "model.width=16",
                 "model.vocabulary_size=300", "model.context_tokens=4", "train.tokens_per_step=64"})
                .exit_code,
            0);
  const auto refusal = [&](const std::string& command, const std::string& rows) {
    write_ids(rows);
    const std::string flag = command == "score" ? "--logits" : "--gradients";
    const Answer answer =
        run({command, path("start"), "--tokens", path("ids.json"), flag, path("out.safetensors")});
    EXPECT_EQ(answer.exit_code, 2) << answer.text;
    EXPECT_FALSE(fs::exists(folder_ / "out.safetensors"));
    return answer.text;
  };
  EXPECT_THAT(refusal("score", "[[1, 2], [3, 300]]"),
              AllOf(HasSubstr("ids.json"), HasSubstr("row 1, position 1 = 300"),
                    HasSubstr("must be an integer >= 0 and < 300")));
  EXPECT_THAT(refusal("score", "[[1, 2, 3, 4, 5]]"), HasSubstr("row 0 = 5 ids: must have 1 to 4"));
  EXPECT_THAT(refusal("step", "[[1]]"), HasSubstr("row 0 = 1 ids: must have 2 to 5"));
  EXPECT_THAT(refusal("step", "[[1, 2, 3], [3, 1]]"), HasSubstr("must have as many as row 0, 3"));
  EXPECT_THAT(run({"score", path("start"), "--tokens", path("ids.json")}).text,
              HasSubstr("needs --logits FILE"));
}

TEST_F(WeightsCommands, AnExportIsNoRunAndSaysHowItBecomesOne) {
  ASSERT_EQ(
      run({"init", "demo", "--out", path("start"), "data.corpus=", "model.vocabulary_size=300"})
          .exit_code,
      0);
  const Answer answer = run({"evaluate", path("start")});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.text, HasSubstr("windtunnel import makes one of it"));
}

}  // namespace
}  // namespace windtunnel::cli

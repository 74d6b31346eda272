// The command line as a stranger meets it: help, and one clear sentence for each kind of bad input.

#include "tests/cli/command_line.h"

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>

#include "base/random.h"
#include "tests/support/tiny_corpus.h"

namespace windtunnel::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(CommandLine, HelpAnswersAtOnceAndNamesEveryCommand) {
  // The bound leaves room for a loaded machine: the best of several tries counts.
  auto best = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const Answer answer = run({"--help"});
    best = std::min(best, std::chrono::steady_clock::now() - start);
    EXPECT_EQ(answer.exit_code, 0);
    for (const char* name : {"demo",     "research", "run",    "ladder",     "fit",    "evaluate",
                             "generate", "score",    "census", "config",     "corpus", "tokenizer",
                             "export",   "import",   "init",   "step",       "status", "show",
                             "report",   "list",     "doctor", "literature", "gains",  "sweep"}) {
      EXPECT_THAT(answer.text, HasSubstr(name));
    }
  }
  EXPECT_LT(best, std::chrono::milliseconds(50));
}

TEST_F(CommandLine, EveryCommandsHelpHasAnExample) {
  const base::Json commands = base::parse_json(run({"list", "commands", "--json"}).text, "list");
  ASSERT_GE(commands.size(), 22u);
  for (const auto& command : commands) {
    const Answer answer = run({command["name"], "--help"});
    EXPECT_EQ(answer.exit_code, 0);
    EXPECT_THAT(answer.text,
                HasSubstr("Example: windtunnel " + command["name"].get<std::string>()));
  }
}

TEST_F(CommandLine, NoCommandOrAnUnknownOneIsWrongUse) {
  EXPECT_EQ(run({}).exit_code, 2);
  const Answer unknown = run({"fitt"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.text, HasSubstr("command 'fitt' does not exist; did you mean 'fit'?"));
  EXPECT_EQ(run({"demo", "--no-such-flag"}).exit_code, 2);
}

TEST_F(CommandLine, AnUnknownConfigurationKeyIsNamed) {
  const Answer answer = run({"run", "demo", "--dry-run", "train.optimizer.lerning_rate=0.1"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.text,
              HasSubstr("train.optimizer.lerning_rate = 0.1: unknown key; did you mean "
                        "'train.optimizer.learning_rate'?"));
}

TEST_F(CommandLine, AnIllegalPatternLetterIsShownWithACaret) {
  const Answer answer = run({"census", "demo", "model.pattern=*D*Q", "model.vocabulary_size=512"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("model.pattern"), HasSubstr("^")));
}

TEST_F(CommandLine, ABudgetOfZeroIsRefused) {
  const Answer answer = run({"run", "demo", "--dry-run", "train.budget.amount=0"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.text, HasSubstr("train.budget.amount = 0: must be of type number and > 0"));
}

TEST_F(CommandLine, AnOverrideWithoutAnEqualsSignIsWrongUse) {
  const Answer answer = run({"run", "demo", "--dry-run", "width"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.text, HasSubstr("must look like path=value"));
}

TEST_F(CommandLine, NamesThatDoNotExistAreAnsweredWithTheOnesThatDo) {
  EXPECT_THAT(run({"research", "nightly"}).text,
              AllOf(HasSubstr("program 'nightly' does not exist"), HasSubstr("overnight_cpu")));
  EXPECT_THAT(run({"status", "nothing"}).text, HasSubstr("study 'nothing' does not exist"));
  EXPECT_THAT(run({"evaluate", "nothing/at-all"}).text,
              HasSubstr("run 'nothing/at-all' does not exist"));
  EXPECT_THAT(run({"list", "layer"}).text, HasSubstr("lists: commands, corpora"));
}

TEST_F(CommandLine, AFolderWithoutTextMakesNoCorpus) {
  fs::create_directories(folder_ / "empty");
  const Answer answer = run({"corpus", "--files", (folder_ / "empty/**/*.txt").string(), "--out",
                             (folder_ / "corpus").string()});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.text, HasSubstr((folder_ / "empty").string()));
  EXPECT_FALSE(fs::exists(folder_ / "corpus/manifest.json"));
}

TEST_F(CommandLine, BinaryTextIsKeptByteForByte) {
  base::RandomStream random(1, "bytes");
  std::string bytes;
  for (int i = 0; i < 3000; ++i) bytes += static_cast<char>(random.below(256));
  for (int file = 0; file < 20; ++file) {
    base::write_file_atomic(folder_ / ("text/" + std::to_string(file)),
                            bytes + std::to_string(file));
  }
  const Answer answer = run({"corpus", "--files", (folder_ / "text/*").string(), "--out",
                             (folder_ / "corpus").string(), "--vocabulary", "300", "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.text;
  const base::Json manifest = base::read_json(folder_ / "corpus/manifest.json");
  EXPECT_EQ(manifest["train"]["bytes"].get<int64_t>() +
                manifest["validation"]["bytes"].get<int64_t>() +
                manifest["locked"]["bytes"].get<int64_t>(),
            20 * 3000 + 10 + 20);
}

TEST_F(CommandLine, EveryProgramsPlanIsPrintedWithoutCorpusOrGpu) {
  for (const auto& program : base::parse_json(run({"list", "programs", "--json"}).text, "list")) {
    const std::string name = program["name"];
    const std::string study = (folder_ / name).string();
    const Answer research = run({"research", name, "--dry-run", "--study", study});
    EXPECT_EQ(research.exit_code, 0) << research.text;
    const Answer ladder = run({"ladder", name, "--dry-run", "--json", "--study", study});
    if (base::read_file(program["file"].get<std::string>()).find("\nladder:") ==
        std::string::npos) {
      EXPECT_EQ(ladder.exit_code, 2) << ladder.text;
      EXPECT_THAT(ladder.text, HasSubstr("has no `ladder`; add its rungs"));
    } else {
      EXPECT_EQ(ladder.exit_code, 0) << ladder.text;
      EXPECT_GE(base::parse_json(ladder.text, name)["ladder"]["rungs"].size(), 6u);
    }
    EXPECT_FALSE(fs::exists(study));
  }
}

TEST_F(CommandLine, TheCensusCountsWithoutACorpus) {
  const Answer answer =
      run({"census", "demo", "model.vocabulary_size=4096", "model.width=24", "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.text;
  const base::Json census = base::parse_json(answer.text, "census");
  EXPECT_EQ(census["parameters"]["by_component"]["embedding"], 4096 * 24);
}

TEST_F(CommandLine, AGpuThatIsNotThereIsAnErrorAndNoSilentCpuRun) {
  if (fs::exists("/dev/nvidia0")) GTEST_SKIP() << "this machine has a GPU";
  tests::write_tiny_corpus(folder_ / "corpus");
  const Answer answer = run({"run", "demo", "--study", (folder_ / "study").string(), "--name", "r",
                             "train.device=cuda", "data.corpus=" + (folder_ / "corpus").string(),
                             "model.vocabulary_size=0"});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("refused"), HasSubstr("cuda"), HasSubstr("train.device=cpu")));
}

TEST_F(CommandLine, ARunIsTrainedScoredAndNotRepeated) {
  tests::write_tiny_corpus(folder_ / "corpus");
  const std::vector<std::string> command = {"run",
                                            "demo",
                                            "--study",
                                            (folder_ / "study").string(),
                                            "--name",
                                            "r",
                                            "--json",
                                            "data.corpus=" + (folder_ / "corpus").string(),
                                            "model.width=16",
                                            "model.context_tokens=32",
                                            "train.tokens_per_step=128",
                                            "train.budget={\"kind\": \"steps\", \"amount\": 5}"};
  const Answer first = run(command);
  ASSERT_EQ(first.exit_code, 0) << first.text;
  const Answer second = run(command);
  ASSERT_EQ(second.exit_code, 0);
  const auto record_in = [](const std::string& text) {
    return base::parse_json(text.substr(text.find('{')), "record");
  };
  EXPECT_EQ(record_in(first.text)["evaluation"], record_in(second.text)["evaluation"]);
  EXPECT_EQ(record_in(first.text)["started_at"], record_in(second.text)["started_at"]);

  const std::string folder = (folder_ / "study/runs/r").string();
  const Answer evaluated = run({"evaluate", folder, "--json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.text;
  const double bits = record_in(first.text)["evaluation"]["bits_per_byte"];
  EXPECT_DOUBLE_EQ(record_in(evaluated.text)["bits_per_byte"].get<double>(), bits);

  // Weights with one byte flipped are not scored, and nothing is changed.
  const fs::path weights = folder + "/checkpoint/weights.safetensors";
  std::string bytes = base::read_file(weights);
  bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 1);
  std::ofstream(weights, std::ios::binary) << bytes;
  const Answer flipped = run({"evaluate", folder});
  EXPECT_EQ(flipped.exit_code, 1);
  EXPECT_THAT(flipped.text, HasSubstr("weights.safetensors"));
  std::ofstream(weights, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  const Answer cut = run({"evaluate", folder});
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_THAT(cut.text, AllOf(HasSubstr("weights.safetensors"), Not(HasSubstr("terminate"))));
}

TEST_F(CommandLine, ADryRunOfATournamentSaysWhatItWouldAsk) {
  base::write_file_atomic(folder_ / "papers/a.bib",
                          "@misc{a, title={A}} @misc{b, title={B}} @misc{c, title={C}}");
  const std::string papers = (folder_ / "papers").string();
  const std::string study = (folder_ / "study").string();
  const Answer answer = run({"literature", "literature_tournament", "--papers", papers, "--rounds",
                             "5", "--study", study, "--dry-run", "--json"});
  EXPECT_EQ(answer.exit_code, 0);
  const base::Json plan = answer.json();
  EXPECT_EQ(plan["papers"], 3);
  EXPECT_EQ(plan["rounds"], 5);
  EXPECT_EQ(plan["fewest_calls"], 6);
  EXPECT_EQ(plan["most_calls"], 16);
  EXPECT_FALSE(fs::exists(study));
}

TEST_F(CommandLine, ATournamentNeedsAProgramThatNamesOneAPlaceForTheModelAndPapers) {
  const std::string papers = (folder_ / "papers").string();
  EXPECT_THAT(run({"literature", "demo", "--papers", papers}).text,
              HasSubstr("program 'demo' has no proposer of kind literature"));
  EXPECT_THAT(run({"literature", "literature_tournament", "--papers", papers}).text,
              HasSubstr("folder of papers " + papers + " does not exist"));
  base::write_file_atomic(folder_ / "papers/a.bib",
                          "@misc{a, title={A}} @misc{b, title={B}} @misc{c, title={C}}");
  const Answer answer = run({"literature", "literature_tournament", "--papers", papers, "--study",
                             (folder_ / "study").string()},
                            {{"OPENAI_BASE_URL", ""}});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.text, HasSubstr("the environment variable OPENAI_BASE_URL is not set"));
}

}  // namespace
}  // namespace windtunnel::cli

// A training process that wants a good score more than a good model. Each trick is tried twice:
// against the kernel's file rules, and without them against what is left then: hashes and hands.

#include "study/quarantine.h"
#include "tests/study/scripted_trainer.h"

namespace windtunnel::study {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr double kHonest = 2.5;

class HostileRun : public ScriptedTrainer, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !base::can_restrict_files()) GTEST_SKIP() << "this kernel has no Landlock";
    limits_.restrict_files = GetParam();
  }

  EvaluationResult fake() const { return evaluation(1.9); }

  RunRecord attack(const std::string& train, const std::string& evaluate) const {
    trainer(train, evaluate);
    return run_one();
  }
  RunRecord attack(const std::string& train) const { return attack(train, good_evaluation()); }

  /// Kept from it by the kernel, so the honest score; or seen afterwards, so none.
  void expect_no_success(const RunRecord& record, const std::string& reason) const {
    if (limits_.restrict_files) {
      EXPECT_EQ(record.bits_per_byte(), kHonest) << record.train.message;
    } else {
      EXPECT_EQ(record.train.outcome, outcome::kQuarantined);
      EXPECT_THAT(record.train.message, HasSubstr(reason));
      EXPECT_EQ(record.bits_per_byte(), std::nullopt);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(FileRules, HostileRun, ::testing::Bool(),
                         [](const auto& rules) { return rules.param ? "On" : "Off"; });

TEST_P(HostileRun, AScoreThatItPrintsIsNoScore) {
  EXPECT_EQ(attack("echo val_bpb: 0.1\n" + good_training()).bits_per_byte(), kHonest);
}

TEST_P(HostileRun, AnEvaluationOrARecordOfItsOwnIsNotRead) {
  const std::string forges = writes(fake()) + "; cp $RUN/evaluation.json $RUN/record.json\n";
  EXPECT_EQ(attack(forges + good_training()).bits_per_byte(), kHonest);
  const RunRecord failed = attack(forges + good_training(), "exit 1");
  EXPECT_EQ(failed.bits_per_byte(), std::nullopt);
  EXPECT_EQ(read_record(run_folder())->bits_per_byte(), std::nullopt);
}

TEST_P(HostileRun, AForgedRecordIsNotTakenOverAfterTheControlProgramDied) {
  trainer(good_training());
  run_one();  // gives the study its key
  RunRecord forged = *read_record(run_folder());
  forged.id = "r2";
  forged.evaluation = fake();
  base::write_json(run_folder("r2") / "record.json", base::to_json(forged));
  fs::copy_file(run_folder() / "record.seal", run_folder("r2") / "record.seal");
  EXPECT_EQ(read_record(run_folder("r2"))->bits_per_byte(), 1.9);
  EXPECT_FALSE(read_sealed_record(folder_.path(), "r2").has_value());
  EXPECT_EQ(read_sealed_record(folder_.path(), "r1")->bits_per_byte(), kHonest);
  trainer("cat $STUDY/.seal-key > $RUN/loot\n" + good_training());
  finish(*runner(), request("r3"));
  if (!GetParam()) return;
  EXPECT_EQ(base::read_file(run_folder("r3") / "loot"), "");
}

TEST_P(HostileRun, AProcessThatStaysToForgeTheEvaluationIsGoneByThen) {
  const std::string stays =
      "(setsid sh -c 'while :; do " + writes(fake()) + "; sleep 0.01; done' &); sleep 0.2\n";
  EXPECT_EQ(attack(stays + good_training(), "sleep 0.3; " + good_evaluation()).bits_per_byte(),
            kHonest);
}

TEST_P(HostileRun, TheProgramThatScoresCannotBeReplaced) {
  const std::string replaces = "printf '#!/bin/sh\\n" + std::string("RUN=$3\\n") +
                               "' > $STUDY/new && echo \"" + base::to_json(fake()).dump() +
                               "\" >> $STUDY/new && chmod +x $STUDY/new && mv $STUDY/new $SELF\n";
  expect_no_success(attack(replaces + good_training()), "the program changed");
}

TEST_P(HostileRun, NoFileOfTheCorpusCanBeChanged) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"validation.text", "the validation text changed"},
      {"validation-00000.tokens", "the validation tokens changed"},
      {"train-00000.tokens", "the training tokens changed"},
      {"tokenizer.json", "the tokenizer changed"},
      {"manifest.json", "the manifest changed"}};
  for (const auto& [file, reason] : files) {
    const std::string before = base::read_file(corpus() / file);
    // Of equal size and with its time put back.
    const std::string path = "$CORPUS/" + file;
    expect_no_success(attack("touch -r " + path + " $RUN/time; printf 0 | dd of=" + path +
                             " conv=notrunc bs=1 2>/dev/null; touch -r $RUN/time " + path + "\n" +
                             good_training()),
                      reason);
    if (base::read_file(corpus() / file) != before)
      base::write_file_atomic(corpus() / file, before);
  }
}

TEST_P(HostileRun, AnotherConfigurationIsNotScoredAsThisOne) {
  const RunRecord record =
      attack("sed -i 's/\"seed\": 1/\"seed\": 7/' $RUN/config.json\n" + good_training());
  EXPECT_EQ(record.train.outcome, outcome::kQuarantined);
  EXPECT_THAT(record.train.message, HasSubstr("the configuration changed"));
}

TEST_P(HostileRun, OtherWeightsThanTheTrainedOnesAreNotScored) {
  const RunRecord record =
      attack(good_training() + "\nprintf better > $RUN/checkpoint/weights.safetensors");
  EXPECT_EQ(record.train.outcome, outcome::kQuarantined);
  EXPECT_THAT(record.train.message, HasSubstr("weights are not those"));
}

TEST_P(HostileRun, WeightsThatChangeWhileTheyAreScoredGiveNoScore) {
  const RunRecord record = attack(
      good_training(), "printf better > $RUN/checkpoint/weights.safetensors; " + good_evaluation());
  EXPECT_EQ(record.train.outcome, outcome::kQuarantined);
  EXPECT_THAT(record.train.message, HasSubstr("the weights changed"));
}

TEST_P(HostileRun, HeldOutTextDoesNotReachTheTrainingProcess) {
  const RunRecord record = attack(
      "cp -r $CORPUS/locked $RUN/stolen; cat $CORPUS/locked/locked.text > $RUN/loot; "
      "cat $CORPUS/validation.text >> $RUN/loot; ln $CORPUS/validation.text $RUN/link && cat "
      "$RUN/link >> $RUN/loot; cat /proc/self/root$CORPUS/validation-00000.tokens >> $RUN/loot\n" +
      good_training());
  EXPECT_EQ(record.job.file_rules, GetParam() ? "landlock" : "none");
  if (!GetParam()) return;  // the record says that nothing held it back
  EXPECT_EQ(base::read_file(run_folder() / "loot"), "");
  EXPECT_FALSE(fs::exists(run_folder() / "stolen/locked.text"));
  EXPECT_EQ(record.bits_per_byte(), kHonest);
}

TEST_P(HostileRun, TheEvaluationDoesNotSeeTheLockedSplitEither) {
  if (!GetParam()) GTEST_SKIP() << "nothing holds it back";
  attack(good_training(),
         "cat $CORPUS/validation.text > /dev/null || exit 1; "
         "cat $CORPUS/locked/locked.text && exit 1; " +
             good_evaluation());
  EXPECT_TRUE(read_record(run_folder())->completed()) << read_record(run_folder())->train.message;
}

TEST_P(HostileRun, AnotherRunOfTheStudyStaysAsItIs) {
  trainer(good_training());
  const auto one = runner();
  finish(*one, request("a"));
  trainer("cp $RUN/config.json $STUDY/runs/a/record.json; touch $STUDY/journal.db\n" +
          good_training());
  finish(*runner(), request("b"));
  if (!GetParam()) return;
  EXPECT_EQ(read_record(run_folder("a"))->bits_per_byte(), kHonest);
  EXPECT_FALSE(fs::exists(folder_ / "journal.db"));
}

TEST_P(HostileRun, AModelThatSeesTheFutureIsQuarantined) {
  EvaluationResult leaky = evaluation();
  leaky.probes->rows_moved = 8;
  leaky.probes->largest_move_nats = 3.2;
  const RunRecord record = attack(good_training(), writes(leaky));
  EXPECT_EQ(record.train.outcome, outcome::kQuarantined);
  EXPECT_THAT(record.train.message, HasSubstr("sees the future"));
}

TEST_P(HostileRun, ScoresThatNobodyTriedOrThatAreNoLogProbabilitiesAreQuarantined) {
  EvaluationResult untried = evaluation();
  untried.probes.reset();
  EXPECT_THAT(attack(good_training(), writes(untried)).train.message, HasSubstr("did not try"));
  EvaluationResult unnormalised = evaluation();
  unnormalised.probes->largest_score_error_nats = 1.2;
  EXPECT_THAT(attack(good_training(), writes(unnormalised)).train.message,
              HasSubstr("scores are not log-probabilities: off by 1.2 nats"));
  EvaluationResult wrong = evaluation();
  wrong.total_nats *= 2;
  EXPECT_THAT(attack(good_training(), writes(wrong)).train.message,
              HasSubstr("bits per byte are not the evaluation's"));
  EvaluationResult part = evaluation();
  part.bytes -= 1;
  EXPECT_THAT(attack(good_training(), writes(part)).train.message, HasSubstr("another text"));
}

TEST_P(HostileRun, AScoreBelowTheFloorIsQuarantined) {
  const double floor = lowest_plausible_bits_per_byte(corpus());
  EXPECT_GT(floor, 0.1);
  EXPECT_TRUE(attack(good_training(), writes(evaluation(1.01 * floor))).completed());
  const RunRecord record = attack(good_training(), writes(evaluation(0.99 * floor)));
  EXPECT_EQ(record.train.outcome, outcome::kQuarantined);
  EXPECT_THAT(record.train.message, HasSubstr("a quarter of what deflate needs"));
}

TEST_P(HostileRun, ALeapBeyondAMillionfoldComputeIsQuarantined) {
  const double before = 3.6 * lowest_plausible_bits_per_byte(corpus());  // better than deflate
  trainer(good_training(), writes(evaluation(before)));
  EXPECT_TRUE(finish(*runner(), request("before")).completed());
  const double limit = before * std::pow(1e6, -0.05);
  EXPECT_TRUE(attack(good_training(), writes(evaluation(1.01 * limit))).completed());
  fs::remove_all(run_folder());
  const RunRecord record = attack(good_training(), writes(evaluation(0.99 * limit)));
  EXPECT_EQ(record.train.outcome, outcome::kQuarantined);
  EXPECT_THAT(record.train.message,
              HasSubstr("than a millionfold compute would gain on run before"));
}

}  // namespace
}  // namespace windtunnel::study

// Whatever a job does to the machine, it becomes a typed outcome and the next run starts.

#include <chrono>

#include "base/child_process.h"
#include "tests/study/scripted_trainer.h"

namespace windtunnel::study {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kOutOfMemoryAtFirst =
    R"(if grep -q '"micro_batch_rows": *4' $RUN/config.json; then )";

class JobFaults : public ScriptedTrainer {
 protected:
  /// The record of a run; then a good one must go through the same runner.
  RunRecord fault(const std::string& train, const std::string& evaluate) {
    trainer(
        "if [ ${RUN##*/} = good ]; then\n" + good_training() + "\nelse\n" + train + "\nfi",
        "if [ ${RUN##*/} = good ]; then\n" + good_evaluation() + "\nelse\n" + evaluate + "\nfi");
    const auto one = runner();
    RunRecord record = finish(*one, request());
    EXPECT_EQ(finish(*one, request("good")).bits_per_byte(), 2.5) << "the next run";
    if (!record.completed()) {
      EXPECT_EQ(record.bits_per_byte(), std::nullopt);
      EXPECT_EQ(base::to_json(record)["evaluation"], nullptr);
    }
    return record;
  }
  RunRecord fault(const std::string& train) { return fault(train, good_evaluation()); }
};

TEST_F(JobFaults, OutOfMemoryIsRetriedOnceWithHalfTheMicroBatch) {
  const RunRecord record =
      fault(kOutOfMemoryAtFirst + good_training() +
            R"(; else echo '{"outcome": "out_of_memory"}' > $RUN/train.json; fi)");
  EXPECT_EQ(record.bits_per_byte(), 2.5);
  EXPECT_EQ(record.job.training_attempts, 2);
  EXPECT_EQ(record.job.micro_batch_rows_requested, 8);
  EXPECT_EQ(record.job.micro_batch_rows_effective, 4);
  const auto config = base::read_json(run_folder() / "config.json");
  EXPECT_EQ(config["train"]["tokens_per_step"], 2048) << "the total batch stays";
  EXPECT_EQ(record.config_fingerprint, config_fingerprint(request().config));
}

TEST_F(JobFaults, OutOfMemoryTwiceIsTheOutcome) {
  const RunRecord record = fault(R"(echo '{"outcome": "out_of_memory"}' > $RUN/train.json)");
  EXPECT_EQ(record.train.outcome, outcome::kOutOfMemory);
  EXPECT_EQ(record.job.training_attempts, 2);
}

TEST_F(JobFaults, TheRetryStartsFromNothingThatTheFirstLeft) {
  fault(
      "echo x >> $RUN/attempts; if [ -e $RUN/curve.jsonl ] || [ -e $RUN/checkpoint ]; then "
      "echo dirty >> $RUN/attempts; fi; echo '{\"step\": 1}' > $RUN/curve.jsonl; "
      "mkdir $RUN/checkpoint; echo '{\"outcome\": \"out_of_memory\"}' > $RUN/train.json");
  EXPECT_EQ(base::read_file(run_folder() / "attempts"), "x\nx\n");
}

TEST_F(JobFaults, ARunThatGoesOnKeepsTheMicroBatchThatFitted) {
  trainer(kOutOfMemoryAtFirst + good_training() +
          R"(; else echo '{"outcome": "out_of_memory"}' > $RUN/train.json; fi)");
  run_one();
  RunRequest again = request();
  again.resume = true;
  const RunRecord record = finish(*runner(), again);
  EXPECT_EQ(record.job.training_attempts, 1);
  EXPECT_EQ(record.job.micro_batch_rows_effective, 4);
  EXPECT_EQ(record.job.micro_batch_rows_requested, 8);
}

TEST_F(JobFaults, DivergenceIsNeverRetried) {
  const RunRecord record =
      fault(R"(echo '{"outcome": "diverged", "message": "loss NaN at step 2"}' > $RUN/train.json)");
  EXPECT_EQ(record.train.outcome, outcome::kDiverged);
  EXPECT_EQ(record.job.training_attempts, 1);
}

TEST_F(JobFaults, AHangThatPrintsAndIgnoresTermIsFoundByItsOwnSpeed) {
  limits_.stall_seconds = 3;
  const auto start = steady_clock::now();
  const RunRecord record = fault(
      "trap '' TERM; for i in 1 2 3 4 5; do echo \"{\\\"step\\\": $i}\" >> $RUN/curve.jsonl; sleep "
      "0.3; done; while :; do echo still here; sleep 0.05; done");
  EXPECT_EQ(record.train.outcome, outcome::kTimedOut);
  EXPECT_THAT(record.train.message,
              AllOf(HasSubstr("no step after step 5"), HasSubstr("longest pause")));
  EXPECT_LT(steady_clock::now() - start, seconds(20));
}

TEST_F(JobFaults, AHangBeforeTheFirstStepIsFoundByItsSilence) {
  limits_.silence_seconds = 1;
  const RunRecord record = fault("trap '' TERM; while :; do sleep 1; done");
  EXPECT_EQ(record.train.outcome, outcome::kTimedOut);
  EXPECT_THAT(record.train.message, HasSubstr("no sign of life"));
}

TEST_F(JobFaults, AProcessThatForkedTwiceEndsWithItsRun) {
  const RunRecord record =
      fault("(setsid sh -c 'trap \"\" TERM; exec sleep 1000' &); sleep 0.3\n" + good_training());
  EXPECT_EQ(record.bits_per_byte(), 2.5);
  EXPECT_EQ(record.job.orphans_ended, 1);
}

TEST_F(JobFaults, AFloodOfOutputStaysSmallOnDisk) {
  limits_.log_bytes = 100'000;
  const RunRecord record =
      fault("echo first; head -c 200000000 /dev/zero; echo last\n" + good_training());
  EXPECT_EQ(record.bits_per_byte(), 2.5);
  EXPECT_LT(std::filesystem::file_size(run_folder() / "stdout.log"), 101'000u);
}

TEST_F(JobFaults, NoRunStartsWithoutTheReserveOnDisk) {
  limits_.free_bytes = [](const auto& path) {
    return path.filename() == "good" ? 1ULL << 40 : 1000ULL;
  };
  const RunRecord record = fault("touch $RUN/started");
  EXPECT_EQ(record.train.outcome, outcome::kDiskFull);
  EXPECT_THAT(record.train.message,
              AllOf(HasSubstr("not started: 1.00kB free"), HasSubstr("free some space")));
  EXPECT_FALSE(std::filesystem::exists(run_folder() / "started"));
  EXPECT_EQ(record.train.steps, std::nullopt);
}

TEST_F(JobFaults, AFullDiskIsToldFromACrashEvenIfNoResultFits) {
  const RunRecord record = fault("echo cannot write: No space left on device; exit 3");
  EXPECT_EQ(record.train.outcome, outcome::kDiskFull);
}

TEST_F(JobFaults, AnEvaluationThatCrashesIsRepeatedOnceWithHalfTheRows) {
  const RunRecord record =
      fault(good_training(), "[ $5 = 8 ] || kill -SEGV $$\n" + good_evaluation());
  EXPECT_EQ(record.bits_per_byte(), 2.5);
  EXPECT_EQ(record.job.evaluation_attempts, 2);
  EXPECT_EQ(record.job.evaluation_rows_effective, 8);
  EXPECT_EQ(record.job.training_attempts, 1) << "the training is not lost";
}

TEST_F(JobFaults, AnEvaluationThatCrashesTwiceIsACrash) {
  const RunRecord record = fault(good_training(), "kill -SEGV $$");
  EXPECT_EQ(record.train.outcome, outcome::kCrashed);
  EXPECT_THAT(record.train.message, HasSubstr("evaluation failed: it ended with signal 11"));
}

TEST_F(JobFaults, AnEvaluationThatHangsHasADeadlineByTheSpeedOfTraining) {
  limits_.overhead_seconds = 1;
  const RunRecord record = fault(
      "mkdir -p $RUN/checkpoint; printf weights > $RUN/checkpoint/weights.safetensors; echo "
      "'{\"outcome\": \"completed\", \"tokens_per_second\": 1e9, \"weights_sha256\": \"" +
          base::sha256("weights") + "\"}' > $RUN/train.json",
      "while :; do echo busy; sleep 0.1; done");
  EXPECT_EQ(record.train.outcome, outcome::kTimedOut);
  EXPECT_THAT(record.train.message, HasSubstr("evaluation failed: not done 1"));
}

TEST_F(JobFaults, AResultThatIsNoResultIsACrash) {
  for (const char* result : {"{\"outcome\": ", "[]", "{\"outcome\": 3}", ""}) {
    const RunRecord record = fault(std::string("printf '%s' '") + result + "' > $RUN/train.json");
    EXPECT_EQ(record.train.outcome, outcome::kCrashed) << result;
  }
}

TEST_F(JobFaults, WhatAKilledControlProgramLeftIsEndedAtTheNextStart) {
  trainer(good_training());
  base::ChildProcess left(
      {.command = {"sleep", "1000"},
       .environment = {{"WINDTUNNEL_STUDY", std::filesystem::canonical(folder_.path()).string()}}});
  base::ChildProcess other(
      {.command = {"sleep", "1000"}, .environment = {{"WINDTUNNEL_STUDY", "/another/study"}}});
  const auto one = runner();
  EXPECT_TRUE(left.poll().has_value());
  EXPECT_FALSE(other.poll().has_value());
}

TEST_F(JobFaults, ARecordSaysHowBusyTheMachineWas) {
  trainer("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done\n" + good_training());
  const RunRecord record = run_one();
  ASSERT_TRUE(record.job.load_average_start && record.job.load_average_end);
  ASSERT_TRUE(record.job.steal_fraction && record.job.other_busy_threads);
  EXPECT_GE(*record.job.steal_fraction, 0);
  EXPECT_LE(*record.job.steal_fraction, 1);
  EXPECT_GE(*record.job.other_busy_threads, 0);
  EXPECT_LE(*record.job.other_busy_threads, places_of("cpu") + 0.5);
}

}  // namespace
}  // namespace windtunnel::study

// The real trainer under the real runner: what it may see, and what a full disk makes of it.

#include <gmock/gmock.h>

#include "base/child_process.h"
#include "study/runner.h"
#include "tests/trainer/small_run.h"
#include "trainer/train_run.h"

namespace windtunnel::trainer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using tests::small_config;
using tests::TemporaryFolder;

const std::string kTrainer = WINDTUNNEL_BINARY_DIR "/windtunnel-train";

class TrustedRun : public ::testing::Test {
 protected:
  TrustedRun() {
    tests::write_tiny_corpus(corpus());
    manifest_ = tests::lock_documents(corpus(), tests::tiny_documents(20, 3));
    limits_.leases = folder_ / "leases";
    config_ = small_config();
    config_.data.corpus = corpus().string();
    config_ = study::resolve_run_config(base::to_json(config_), "test");
  }

  fs::path corpus() const { return folder_ / "corpus"; }

  study::RunRecord run() const {
    const auto runner = study::make_process_runner(folder_ / "study", 1, kTrainer, limits_);
    runner->start({.id = "r1", .config = config_});
    for (;;) {
      if (auto record = runner->poll()) return *record;
    }
  }

  TemporaryFolder folder_;
  corpus::CorpusManifest manifest_;
  study::JobLimits limits_;
  study::RunConfig config_;
};

TEST_F(TrustedRun, IsTrainedScoredAndTriedUnderTheFileRules) {
  const study::RunRecord record = run();
  ASSERT_TRUE(record.completed()) << record.train.message;
  EXPECT_EQ(record.job.file_rules, base::can_restrict_files() ? "landlock" : "none");
  EXPECT_EQ(record.evaluation->bytes, manifest_.validation.bytes);
  EXPECT_EQ(record.evaluation->probes->rows, 8);
  EXPECT_EQ(record.evaluation->probes->rows_moved, 0);
  EXPECT_EQ(record.job.sha256.at("weights"), record.train.weights_sha256);
  EXPECT_EQ(record.job.sha256.at("tokenizer"),
            base::sha256(base::read_file(corpus() / "tokenizer.json")));
  EXPECT_EQ(record.job.orphans_ended, 0);
  const auto& seconds = record.train.seconds;
  std::printf("beside training and evaluation: %.3f s of %.3f s, hashing %.4f s\n",
              record.wall_seconds - *seconds.training - *seconds.evaluation, record.wall_seconds,
              *record.job.hashing_seconds);
}

TEST_F(TrustedRun, TrainingNeedsNoHeldOutText) {
  fs::remove(corpus() / "validation.text");
  fs::remove(corpus() / "validation-00000.tokens");
  fs::remove_all(corpus() / "locked");
  tests::write_run(folder_ / "run", config_);
  EXPECT_EQ(train_run(folder_ / "run"), base::kExitDone);
  EXPECT_EQ(tests::read_result(folder_ / "run").outcome, "completed");
}

TEST_F(TrustedRun, ADiskThatFillsUpIsItsOwnOutcome) {
  tests::write_run(folder_ / "run", config_);
  const std::string run = (folder_ / "run").string();
  // A file system of its own, which holds the configuration but no checkpoint.
  const std::string script = "mount -t tmpfs -o size=24k none " + run + " || exit 99\n" + "cp " +
                             (folder_ / "config.json").string() + " " + run + "\n" + kTrainer +
                             " train --run " + run + "; code=$?\n" + "echo code $code; " + "cat " +
                             run + "/train.json; echo LEFT; ls " + run;
  fs::copy_file(folder_ / "run/config.json", folder_ / "config.json");
  const auto status =
      base::run_child({.command = {"unshare", "--mount", "--map-root-user", "sh", "-c", script},
                       .output_file = folder_ / "log"},
                      std::chrono::seconds(120));
  const std::string log = base::read_file(folder_ / "log");
  if (status.code == 99 || log.find("unshare") != std::string::npos) {
    GTEST_SKIP() << "no file system of its own can be had here: " << log;
  }
  EXPECT_THAT(log, HasSubstr("No space left on device"));
  const bool has_result = log.find("\"outcome\": \"disk_full\"") != std::string::npos;
  const bool has_code = log.find("code 3") != std::string::npos;
  EXPECT_TRUE(has_result || has_code) << log;
  EXPECT_THAT(log.substr(log.rfind("LEFT")), ::testing::Not(HasSubstr(".tmp-"))) << "nothing half-written stays";
}

}  // namespace
}  // namespace windtunnel::trainer

#pragma once
// A shell script in the place of windtunnel-train: it trains nothing, and misbehaves as told.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <numbers>
#include <string>

#include "base/files.h"
#include "base/fingerprint.h"
#include "corpus/packed_corpus.h"
#include "study/runner.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_corpus.h"

namespace windtunnel::study {

/// In scripts $RUN is the run folder, $CORPUS the corpus, $SELF the program, $STUDY the study.
class ScriptedTrainer : public ::testing::Test {
 protected:
  ScriptedTrainer() {
    tests::write_tiny_corpus(corpus());
    manifest_ = tests::lock_documents(corpus(), tests::tiny_documents(20, 3));
    limits_.grace_seconds = 0.3;
    limits_.leases = folder_ / "leases";
  }

  std::filesystem::path corpus() const { return folder_ / "corpus"; }
  std::filesystem::path run_folder(const std::string& id = "r1") const {
    return folder_ / "runs" / id;
  }

  void trainer(const std::string& train, const std::string& evaluate) const {
    base::write_file_atomic(folder_ / "trainer",
                            "#!/bin/sh\nRUN=$3; STUDY=" + folder_.path().string() +
                                "; CORPUS=$STUDY/corpus; SELF=$0\n"
                                "if [ $1 = train ]; then\n" +
                                train + "\nelse\n" + evaluate + "\nfi\n");
    ::chmod((folder_ / "trainer").c_str(), 0755);
  }
  void trainer(const std::string& train) const { trainer(train, good_evaluation()); }

  static std::string good_training() {
    return "mkdir -p $RUN/checkpoint; printf weights > $RUN/checkpoint/weights.safetensors\n"
           "echo '{\"outcome\": \"completed\", \"steps\": 3, \"weights_sha256\": \"" +
           base::sha256("weights") + "\"}' > $RUN/train.json";
  }
  /// What an honest evaluation of those weights reports.
  EvaluationResult evaluation(double bits_per_byte = 2.5) const {
    EvaluationResult result;
    result.bits_per_byte = bits_per_byte;
    result.bytes = manifest_.validation.bytes;
    result.total_nats = bits_per_byte * std::numbers::ln2 * static_cast<double>(result.bytes);
    result.weights_sha256 = base::sha256("weights");
    result.validation_text_sha256 = manifest_.validation_text_sha256;
    result.probes = ProbeResult{.rows = 8, .cuts = 8};
    return result;
  }
  static std::string writes(const EvaluationResult& result) {
    return "echo '" + base::to_json(result).dump() + "' > $RUN/evaluation.json";
  }
  std::string good_evaluation() const { return writes(evaluation()); }

  RunRequest request(const std::string& id = "r1", int64_t seed = 1) const {
    const base::Json document = {
        {"data", {{"corpus", corpus().string()}}},
        {"train", {{"budget", {{"kind", "steps"}, {"amount", 3}}}, {"seed", seed}}}};
    return {.id = id, .config = resolve_run_config(document, "test")};
  }

  std::unique_ptr<Runner> runner(int slots = 1) const {
    return make_process_runner(folder_.path(), slots, folder_ / "trainer", limits_);
  }

  static RunRecord finish(Runner& runner, const RunRequest& request) {
    runner.start(request);
    for (;;) {
      if (auto record = runner.poll()) return *record;
    }
  }
  RunRecord run_one() const { return finish(*runner(), request()); }

  tests::TemporaryFolder folder_;
  corpus::CorpusManifest manifest_;
  JobLimits limits_;
};

}  // namespace windtunnel::study

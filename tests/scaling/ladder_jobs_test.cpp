#include "scaling/ladder_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/child_process.h"
#include "base/files.h"
#include "tests/scaling/tuned_ladder.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::scaling {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::HasSubstr;
using tests::ScriptedRunner;

class LadderJobs : public testing::Test {
 protected:
  fs::path study() const { return folder_ / "study"; }
  fs::path jobs() const { return folder_ / "jobs"; }
  study::Journal journal() const { return study::Journal(study() / "journal.db"); }

  LadderPlan plan(const LadderConfig& ladder) const {
    return plan_ladder(tuned_base(), ladder,
                       {.speed = Speed{.flops_per_second = 1e9, .source = "by a test"},
                        .data_fingerprint = "data",
                        .slots = 2});
  }

  /// What a job does: a run in a study of its own, from its config.json alone.
  void end_job(const std::string& id) const {
    auto config = base::from_json<study::RunConfig>(base::read_json(jobs() / id / "config.json"),
                                                    "config.json");
    ScriptedRunner runner(jobs() / id, 1, end_run);
    runner.start({.id = id, .purpose = "run", .config = config});
    runner.poll();
    base::write_file_atomic(jobs() / id / "runs" / id / "curve.jsonl", "{}\n");
    base::write_file_atomic(jobs() / id / "runs" / id / "checkpoint/weights.safetensors", "large");
  }

  JobsWritten write(const LadderConfig& ladder) {
    study::Journal store = journal();
    return write_jobs(plan(ladder), store, study(), jobs(), "/opt/windtunnel");
  }

  /// Writes the jobs out and ends the first, whose record says something else then; its run's id.
  std::string end_job_with(const char* field, const char* value);

 private:
  tests::TemporaryFolder folder_;
};

LadderConfig untuned() {
  LadderConfig ladder = tuned_ladder();
  ladder.learning_rates.tune = "none";
  return ladder;
}

std::string LadderJobs::end_job_with(const char* field, const char* value) {
  const std::string id = write(untuned()).runs[0];
  end_job(id);
  const fs::path file = jobs() / id / "runs" / id / "record.json";
  Json record = base::read_json(file);
  record[field] = value;
  base::write_json(file, record);
  return id;
}

TEST_F(LadderJobs, EveryRunIsAJobOfItsOwnAndALineOfTheArray) {
  const JobsWritten written = write(untuned());
  ASSERT_EQ(written.runs.size(), 8u);
  EXPECT_EQ(written.waiting, 0);
  EXPECT_EQ(written.runs.front(), "ladder-w96-s1");
  const std::string script = base::read_file(written.script);
  EXPECT_THAT(script, HasSubstr("#SBATCH --array=0-7\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --cpus-per-task=1\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --requeue\n"));
  EXPECT_THAT(script, HasSubstr("at 1e+09 FLOP/s, assumed by a test"));
  for (const std::string& id : written.runs) {
    EXPECT_THAT(script, HasSubstr("  '" + id + "'\n"));
    const auto config =
        base::from_json<study::RunConfig>(base::read_json(jobs() / id / "config.json"), id);
    EXPECT_EQ(config.train.seed, 1);
  }
}

TEST_F(LadderJobs, TheScriptRunsTheTaskOfTheArrayOrAllInTurn) {
  LadderConfig ladder = untuned();
  const fs::path program = study() / "it's windtunnel";
  base::write_file_atomic(program, "#!/bin/bash\necho \"$@\" >>\"$CALLS\"\n");
  fs::permissions(program, fs::perms::owner_all);
  study::Journal store = journal();
  const JobsWritten written = write_jobs(plan(ladder), store, study(), jobs(), program);
  const fs::path calls = study() / "calls";
  const auto run = [&](std::map<std::string, std::string> environment) {
    fs::remove(calls);
    environment["CALLS"] = calls.string();
    const base::ChildOptions options{.command = {"/bin/bash", written.script.string()},
                                     .output_file = study() / "output",
                                     .environment = environment};
    EXPECT_TRUE(base::run_child(options, std::chrono::seconds(20)).ok())
        << base::read_file(study() / "output");
    return base::read_file(calls);
  };
  const std::string one = run({{"SLURM_ARRAY_TASK_ID", "2"}});
  const std::string id = written.runs[2];
  EXPECT_EQ(one, "run " + (jobs() / id / "config.json").string() + " --study " +
                     (jobs() / id).string() + " --name " + id + "\n");
  const std::string all = run({{"SLURM_ARRAY_TASK_ID", ""}});
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 8);
}

TEST_F(LadderJobs, ResultsAreTakenInOnceAndTheLawIsThatOfALadderRunHere) {
  const JobsWritten written = write(untuned());
  for (const std::string& id : written.runs) end_job(id);
  study::Journal store = journal();
  EXPECT_EQ(collect_jobs(plan(untuned()), store, study()), 8);
  EXPECT_EQ(collect_jobs(plan(untuned()), store, study()), 0);
  EXPECT_TRUE(open_jobs(plan(untuned()), store).empty());
  EXPECT_TRUE(fs::exists(study() / "runs/ladder-w24-s1/curve.jsonl"));
  EXPECT_FALSE(fs::exists(study() / "runs/ladder-w24-s1/checkpoint"));
  EXPECT_EQ(store.run("ladder-w24-s1")->purpose, "ladder");
  const LawFit from_jobs = fit_ladder(store);

  const tests::TemporaryFolder here;
  study::Journal local(here / "journal.db");
  ScriptedRunner runner(here.path(), 2, end_run);
  run_ladder(plan(untuned()), local, runner, here.path());
  EXPECT_EQ(base::to_json(from_jobs), base::to_json(fit_ladder(local)));
}

TEST_F(LadderJobs, AKillWhileResultsAreTakenInLosesAndDoublesNothing) {
  const JobsWritten written = write(untuned());
  for (const std::string& id : written.runs) end_job(id);
  {
    // Killed between the copied folder and the journal, and between intent and record.
    study::Journal store = journal();
    fs::copy(jobs() / written.runs[0] / "runs", study() / "runs", fs::copy_options::recursive);
    store.intend_run(written.runs[1], "ladder", std::nullopt, 1);
  }
  study::Journal store = journal();
  EXPECT_EQ(collect_jobs(plan(untuned()), store, study()), 8);
  std::set<std::string> finished;
  for (const auto& run : store.runs()) {
    if (!run.record) continue;
    EXPECT_TRUE(finished.insert(run.id).second);
  }
  EXPECT_EQ(finished.size(), 8u);
}

TEST_F(LadderJobs, ATunedLadderComesInWavesToTheSameEnd) {
  int waves = 0;
  JobsWritten written = write(tuned_ladder());
  EXPECT_EQ(written.runs.size(), 6u);  // three rates of the smallest size on two curves
  EXPECT_EQ(written.waiting, 6);
  for (; !written.runs.empty() && waves < 30; ++waves) {
    for (const std::string& id : written.runs) end_job(id);
    written = write(tuned_ladder());
  }
  EXPECT_GE(waves, 6);
  EXPECT_FALSE(fs::exists(written.script));
  study::Journal store = journal();
  const LawFit from_jobs = fit_ladder(store);
  const tests::TemporaryFolder here;
  study::Journal local(here / "journal.db");
  ScriptedRunner runner(here.path(), 2, end_run);
  run_ladder(plan(tuned_ladder()), local, runner, here.path());
  EXPECT_EQ(base::to_json(from_jobs), base::to_json(fit_ladder(local)));
}

TEST_F(LadderJobs, AJobThatIsThereKeepsWhatItHas) {
  const JobsWritten written = write(untuned());
  base::write_file_atomic(jobs() / written.runs[0] / "runs/x/checkpoint", "half done");
  end_job(written.runs[1]);
  const JobsWritten again = write(untuned());
  EXPECT_EQ(again.runs.size(), 7u);
  EXPECT_EQ(again.ended, 1);
  EXPECT_TRUE(fs::exists(jobs() / written.runs[0] / "runs/x/checkpoint"));
  const study::Journal store = journal();
  EXPECT_EQ(open_jobs(plan(untuned()), store).size(), 7u);
}

TEST_F(LadderJobs, ARecordOfAnotherConfigurationIsRefused) {
  const std::string id = end_job_with("config_fingerprint", "another");
  study::Journal store = journal();
  try {
    collect_jobs(plan(untuned()), store, study());
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is of another configuration or seed than the ladder's "
                                        "run " +
                                        id));
  }
}

TEST_F(LadderJobs, ARecordOnAnotherManifestIsRefused) {
  const std::string id = end_job_with("data_fingerprint", "elsewhere");
  study::Journal store = journal();
  try {
    collect_jobs(plan(untuned()), store, study());
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("run " + id +
                                        " read the corpus manifest elsewhere, but this ladder is "
                                        "on data"));
  }
  EXPECT_FALSE(store.run(id));
}

TEST_F(LadderJobs, AFolderOfAnotherLaddersJobsIsRefused) {
  write(untuned());
  const tests::TemporaryFolder other;
  study::Journal store(other / "journal.db");
  LadderConfig changed = untuned();
  changed.rungs[0].patch["train.optimizer.weight_decay"] = 0.3;
  try {
    write_jobs(plan(changed), store, other.path(), jobs(), "/opt/windtunnel");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is a job of another ladder; choose another folder"));
  }
}

}  // namespace
}  // namespace windtunnel::scaling

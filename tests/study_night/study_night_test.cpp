// A whole study in seconds by the real programs, with a language model that follows a script.
// Budgets are in steps, so equal studies are equal bit for bit, and so is one that was killed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "study/journal.h"
#include "tests/study_night/study_content.h"
#include "tests/study_night/workplace.h"

namespace windtunnel::tests {
namespace {

namespace fs = std::filesystem;
using base::Json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Moment = std::function<bool()>;

Moment is_there(const fs::path& file) {
  return [file] { return fs::exists(file); };
}

/// Some run whose name begins so has the file.
Moment has_run_with(const fs::path& study, const std::string& name, const std::string& file) {
  return [=] {
    std::error_code error;
    for (const auto& run : fs::directory_iterator(study / "runs", error)) {
      if (run.path().filename().string().starts_with(name) && fs::exists(run.path() / file)) {
        return true;
      }
    }
    return false;
  };
}

/// Some run is at the point where it has one file and not yet the other.
Moment between(const fs::path& study, const std::string& file, const std::string& next) {
  return [=] {
    std::error_code error;
    for (const auto& run : fs::directory_iterator(study / "runs", error)) {
      if (fs::exists(run.path() / file) && !fs::exists(run.path() / next)) return true;
    }
    return false;
  };
}

std::vector<std::string> verdicts(const Json& content) {
  std::vector<std::string> words;
  for (const Json& experiment : content.at("experiments")) {
    words.push_back(experiment.at("decision").at("verdict"));
  }
  return words;
}

void expect_complete(const fs::path& study) {
  for (const char* file :
       {"journal.db", "research_log.md", "results.tsv", "leaderboard.md", "report.html"}) {
    EXPECT_TRUE(fs::exists(study / file)) << file;
  }
  const study::Journal journal(study / "journal.db", /*read_only=*/true);
  std::set<std::string> known;
  for (const study::JournalRun& run : journal.runs()) {
    known.insert(run.id);
    EXPECT_EQ(run.state, "finished") << run.id;
    for (const char* file : {"config.json", "curve.jsonl", "stdout.log", "train.json",
                             "evaluation.json", "record.json", "checkpoint/manifest.json"}) {
      EXPECT_TRUE(fs::exists(study / "runs" / run.id / file)) << run.id << "/" << file;
    }
  }
  for (const auto& run : fs::directory_iterator(study / "runs")) {
    EXPECT_TRUE(known.contains(run.path().filename())) << run.path() << " is in no journal";
  }
}

/// From the summary's first line on.
std::string summary_in(const std::string& output) {
  return output.substr(std::min(output.find("\nexperiments  "), output.size()));
}

TEST(StudyNight, KilledAtAnyMomentItEndsLikeOneThatWasNot) {
  Workplace place;
  const Finished night = place.run("research", "calm");
  ASSERT_EQ(night.status.code, base::kExitDone) << night.output;
  const Finished ladder = place.run("ladder", "calm");
  ASSERT_EQ(ladder.status.code, base::kExitDone) << ladder.output;
  const fs::path calm = place.study("calm");
  expect_complete(calm);
  const Json content = study_content(calm);
  ASSERT_EQ(content.at("experiments").size(), 5U);
  EXPECT_EQ(verdicts(content)[0], "vetoed");
  EXPECT_EQ(verdicts(content)[1], "keep") << content.at("experiments")[1].dump(2);
  EXPECT_EQ(content.at("questions").at("proposal 3").at("outcome"), "unusable");
  EXPECT_EQ(content.at("questions").at("repair of proposal 3").at("outcome"), "repaired");
  EXPECT_THAT(std::string(content.at("questions").at("proposal 4").at("message")),
              HasSubstr("patch: duplicate: is the incumbent's own configuration"));
  EXPECT_EQ(content.at("facts").at("fit").at("held_out").size(), 1U);

  const fs::path torn = place.study("torn");
  const fs::path runs = torn / "runs";
  const auto kill_at = [&](const char* when, const Moment& moment, const std::string& job) {
    SCOPED_TRACE(when);
    place.kill_at(moment, job, "torn");
  };
  kill_at("the journal is made", is_there(torn / "journal.db"), "research");
  kill_at("a training has a checkpoint", between(torn, "checkpoint/manifest.json", "train.json"),
          "research");
  kill_at("a run leaves its record", is_there(runs / "baseline-s1/record.json"), "research");
  place.model.hold();
  kill_at(
      "the model is asked", [&] { return place.model.is_asked(); }, "research");
  place.model.release();
  kill_at("half-way", has_run_with(torn, "e004-", "config.json"), "research");
  kill_at("a run is evaluated", between(torn, "train.json", "evaluation.json"), "research");
  kill_at("the last experiment has run", has_run_with(torn, "e005-", "record.json"), "research");
  kill_at("the report is written", is_there(torn / "results.tsv"), "research");
  EXPECT_EQ(place.run("research", "torn").status.code, base::kExitDone);
  kill_at("the largest size trains", is_there(runs / "ladder-w32-s1/curve.jsonl"), "ladder");
  kill_at("a size is done", is_there(runs / "ladder-w20-s1/record.json"), "ladder");
  const Finished last = place.run("ladder", "torn");
  EXPECT_EQ(last.status.code, base::kExitDone);
  expect_complete(torn);
  EXPECT_THAT(differences(content, study_content(torn)), IsEmpty());
  EXPECT_THAT(place.files_holding("continuing at step"), Not(IsEmpty()));
  EXPECT_EQ(summary_in(last.output).substr(0, summary_in(last.output).find("report  ")),
            summary_in(ladder.output).substr(0, summary_in(ladder.output).find("report  ")));

  const Finished again = place.run("research", "calm");
  EXPECT_EQ(again.status.code, base::kExitDone);
  EXPECT_EQ(summary_in(again.output), summary_in(ladder.output));
  EXPECT_THAT(differences(content, study_content(calm)), IsEmpty());

  EXPECT_EQ(place.model.authorization(), std::string("Bearer ") + Workplace::kKey);
  EXPECT_THAT(place.files_holding(Workplace::kKey), IsEmpty());
  for (const char* form : Workplace::kKeyForms) EXPECT_THAT(place.files_holding(form), IsEmpty());
}

TEST(StudyNight, CtrlCStopsInOrderAndTheSameCommandContinues) {
  Workplace place;
  const std::vector<std::string> short_night = {
      "night.experiments=1", "night.baseline_replicates=2", "decision.max_pairs=1"};
  const fs::path study = place.study("night");
  const auto interrupt_at = [&](const char* when, const Moment& moment) {
    SCOPED_TRACE(when);
    base::ChildProcess child = place.start("research", "night", short_night);
    ASSERT_TRUE(wait_for(moment, child)) << place.output();
    ::kill(child.pid(), SIGINT);
    const auto status = child.wait_for(std::chrono::seconds(60));
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, base::kExitInterrupted) << place.output();
    EXPECT_THAT(place.output(), HasSubstr("interrupted; run the same command to continue"));
  };
  interrupt_at("training", is_there(study / "runs/baseline-s1/curve.jsonl"));
  place.model.hold();
  interrupt_at("asking the model", [&] { return place.model.is_asked(); });
  place.model.release();
  const Finished done = place.run("research", "night", short_night);
  EXPECT_EQ(done.status.code, base::kExitDone) << done.output;
  expect_complete(study);
  EXPECT_EQ(verdicts(study_content(study)).size(), 2U);
}

TEST(StudyNight, AStudyBelongsToOneProcessAndFreshStartsItOver) {
  Workplace place;
  const fs::path study = place.study("night");
  const Moment a_run_is_in_flight = between(study, "config.json", "record.json");
  {
    base::ChildProcess owner = place.start("research", "night");
    ASSERT_TRUE(wait_for(a_run_is_in_flight, owner)) << place.output();
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--fresh"}}) {
      const Finished refused = place.run("research", "night", more);
      EXPECT_EQ(refused.status.code, base::kExitFailed);
      EXPECT_THAT(refused.output, HasSubstr("is in use by process " + std::to_string(owner.pid())));
    }
    EXPECT_TRUE(fs::exists(study / "journal.db"));
  }
  base::write_file_atomic(study / "results.tsv", "old");
  base::ChildProcess owner = place.start("research", "night", {"--fresh"});
  const Moment it_starts_over = [&] {
    return !fs::exists(study / "results.tsv") && a_run_is_in_flight();
  };
  ASSERT_TRUE(wait_for(it_starts_over, owner)) << place.output();
  const study::Journal journal(study / "journal.db", /*read_only=*/true);
  for (const study::JournalRun& run : journal.runs()) EXPECT_EQ(run.attempts, 1) << run.id;
  ASSERT_THAT(journal.events(), SizeIs(1));
  EXPECT_EQ(journal.events()[0].kind, "started");
}

TEST(StudyNight, FreshNeverEmptiesAFolderThatIsNoStudy) {
  Workplace place;
  base::write_file_atomic(place.study("letters") / "to_a_friend.txt", "Dear friend,");
  const Finished refused = place.run("research", "letters", {"--fresh"});
  EXPECT_EQ(refused.status.code, base::kExitUsage);
  EXPECT_THAT(refused.output, HasSubstr("holds files but no study"));
  EXPECT_TRUE(fs::exists(place.study("letters") / "to_a_friend.txt"));
}

TEST(StudyNight, AnotherBaseOrLadderIsAnotherStudy) {
  Workplace place;
  const auto expect_refused = [&](const std::string& job, const std::string& words) {
    const fs::path study = place.study(job);
    const Json content = study_content(study);
    const Finished refused = place.run(job, job);
    EXPECT_EQ(refused.status.code, base::kExitFailed) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr(words));
    EXPECT_THAT(refused.output, HasSubstr("--fresh"));
    EXPECT_THAT(differences(content, study_content(study)), IsEmpty());
  };
  place.kill_at(between(place.study("research"), "config.json", "record.json"), "research",
                "research");
  place.kill_at(between(place.study("ladder"), "config.json", "record.json"), "ladder", "ladder");
  place.edit_program("{name: w20, patch: {model.width: 20}}",
                     "{name: w20, patch: {model.width: 20, train.optimizer.learning_rate: 0.01}}");
  expect_refused("ladder", "holds the plan of another ladder");
  place.edit_program("width: 16\n", "width: 20\n");
  expect_refused("research", "is not the one that the study");
}

}  // namespace
}  // namespace windtunnel::tests

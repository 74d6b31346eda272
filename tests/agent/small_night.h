#pragma once
// Nights without processes: a program, runs whose outcome is a formula, and what they leave.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "agent/noise.h"
#include "agent/research.h"
#include "base/random.h"
#include "tests/support/scripted_runner.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::agent {

using base::Json;
using study::Experiment;
using study::Journal;
using study::RunRecord;
using study::RunRequest;
using tests::ScriptedRunner;

constexpr double kRunSd = 0.02;

class LinesOnly : public NightView {
 public:
  void update(const NightProgress& progress) override {
    EXPECT_GE(progress.fraction, 0);
    EXPECT_LE(progress.fraction, 1);
    last = progress;
  }
  void line(const std::string& text) override { lines.push_back(text); }
  std::vector<std::string> lines;
  NightProgress last;
};

inline study::Proposal idea(const Json& patch) {
  study::Proposal proposal;
  proposal.patch = patch;
  proposal.hypothesis = "it helps";
  proposal.prediction = {.delta_bits_per_byte = -0.05,
                         .interval_low = -0.2,
                         .interval_high = 0.0,
                         .probability_kept = 0.5};
  proposal.diagnostic = "tokens per second";
  return proposal;
}

inline Json learning_rate(double value) { return {{"train.optimizer.learning_rate", value}}; }

inline Program small_program() {
  Program program;
  program.name = "small";
  program.slots = 2;
  program.base = {
      {"model",
       {{"pattern", "*D"}, {"width", 32}, {"context_tokens", 32}, {"vocabulary_size", 64}}},
      {"train", {{"tokens_per_step", 64}, {"budget", {{"kind", "steps"}, {"amount", 10}}}}}};
  program.night = {.baseline_replicates = 4, .experiments = 4, .seed = 1};
  program.mutable_paths = {
      {.path = "train.optimizer.learning_rate", .minimum = 0.001, .maximum = 0.5, .scale = "log"}};
  program.decision = {.min_pairs = 2, .max_pairs = 4, .confidence = 0.9, .minimum_gain = 0};
  program.proposers = {{{"kind", "queue"}}, {{"kind", "random"}, {"share", 1}}};
  return program;
}

/// A run of the seed's luck around `mean`; the same request always ends the same.
inline void complete(const RunRequest& request, RunRecord& record, double mean) {
  base::RandomStream luck(static_cast<uint64_t>(request.config.train.seed),
                          study::config_fingerprint(request.config));
  record.train.outcome = study::outcome::kCompleted;
  record.evaluation.emplace().bits_per_byte = mean + kRunSd * luck.normal();
}

/// Best at a learning rate of 0.1; the baseline's 0.02 is 0.3 bits per byte above that.
inline void valley(const RunRequest& request, RunRecord& record) {
  const double distance = std::log(request.config.train.optimizer.learning_rate / 0.1);
  complete(request, record, 2.5 + 0.116 * distance * distance);
}

/// A valley in which one rate diverges.
inline void eventful(const RunRequest& request, RunRecord& record) {
  valley(request, record);
  if (request.config.train.optimizer.learning_rate != 0.4) return;
  record.train.outcome = study::outcome::kDiverged;
  record.evaluation.reset();
}

struct Study {
  tests::TemporaryFolder folder{tests::memory_folder()};
  LinesOnly view;
  std::unique_ptr<Journal> journal = std::make_unique<Journal>(folder / "journal.db");

  std::string night(const Program& program, ScriptedRunner& runner) {
    return run_night(program, *journal, runner, folder.path(), view);
  }
  std::string night(const Program& program, const ScriptedRunner::Script& script) {
    ScriptedRunner runner(folder.path(), 2, script);
    return night(program, runner);
  }
  std::vector<std::string> verdicts() const {
    std::vector<std::string> all;
    for (const Experiment& experiment : journal->experiments()) {
      all.push_back(experiment.decision ? experiment.decision->verdict : "undecided");
    }
    return all;
  }
};

/// The states that an experiment went through.
inline std::vector<std::string> states(const Journal& journal, int64_t experiment) {
  std::vector<std::string> all;
  for (const study::Transition& step : journal.transitions(experiment)) all.push_back(step.state);
  return all;
}

/// All that a journal holds of the research itself: no times, no counts of attempts.
inline Json content(const Journal& journal) {
  Json all = {{"experiments", Json::array()}, {"runs", Json::object()}};
  for (const char* name : {fact::kBaseline, fact::kNoise, fact::kStop}) {
    all["facts"][name] = journal.fact(name).value_or(nullptr);
  }
  for (const Experiment& experiment : journal.experiments()) {
    all["experiments"].push_back(
        {{"number", experiment.number},
         {"proposal", base::to_json(experiment.proposal)},
         {"config", experiment.config},
         {"parent", experiment.parent},
         {"about", experiment.about},
         {"thread", experiment.thread},
         {"doubt", experiment.doubt},
         {"states", states(journal, experiment.number)},
         {"decision", experiment.decision ? base::to_json(*experiment.decision) : Json()}});
  }
  for (const study::JournalRun& run : journal.runs()) {
    all["runs"][run.id] = {{"purpose", run.purpose},
                           {"experiment", run.experiment ? Json(*run.experiment) : Json()},
                           {"seed", run.seed},
                           {"state", run.state},
                           {"record", run.record ? base::to_json(*run.record) : Json()}};
  }
  for (const char* resource : {resource::kDeviceSeconds, resource::kRuns}) {
    all["spent"][resource] = journal.spent(resource);
  }
  all["open_reservations"] = journal.open_reservations().size();
  return all;
}

}  // namespace windtunnel::agent

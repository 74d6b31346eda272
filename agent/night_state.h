#pragma once
// Where a night stands: a mirror of its journal in memory, so that a step reads only what is new.
// Nothing is kept here that the journal does not hold.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/noise.h"
#include "agent/program.h"
#include "study/journal.h"
#include "study/run_missing.h"

namespace windtunnel::agent {

/// "baseline-s2", "e003-s1"; with `is_reference`, "e003-reference-s1": the other arm of an
/// experiment that brings its own.
std::string run_id(int64_t experiment, int64_t seed, bool is_reference = false);

/// A configuration as the journal keeps it, without seed.
study::RunConfig runnable(const base::Json& config);

/// Of an experiment's configuration (0: the baseline) with one seed; the purpose goes by that.
study::PlannedRun planned_run(int64_t experiment, study::RunConfig config, int64_t seed);

/// The other arm of an experiment that brings its own.
study::PlannedRun reference_run(int64_t experiment, study::RunConfig config, int64_t seed);

/// "run e003-s1 ended as diverged: ...".
std::string how_it_ended(const study::RunRecord& record);

class NightState {
 public:
  /// `baseline` is the resolved base configuration without seed.
  NightState(const Program& program, const study::Journal& journal, base::Json baseline);

  /// Reads what the journal has gained. Cost: the experiments and runs since the oldest that was
  /// not settled at the last time.
  void sync();

  /// The proposer's word about a decided experiment, which the journal has taken down.
  void reflected(int64_t experiment, const study::Reflection& word);

  const std::vector<study::Experiment>& experiments() const { return experiments_; }
  const std::vector<study::JournalRun>& runs() const { return runs_; }
  const study::Experiment& experiment(int64_t number) const;
  /// nullptr if there is none of that name.
  const study::JournalRun* find_run(const std::string& id) const;
  /// How many runs of a plan have no record yet.
  int64_t missing(const std::vector<study::PlannedRun>& plan) const;
  /// Runs of an experiment's configuration, in the order of the journal.
  std::vector<const study::JournalRun*> runs_of(int64_t experiment) const;
  /// Runs of the other arm that it brought.
  std::vector<const study::JournalRun*> references_of(int64_t experiment) const;

  /// The experiments before one, which its gate and its vetoes go by.
  std::vector<study::Experiment> history_before(int64_t experiment) const;

  /// The last kept experiment that is still believed; 0 is the baseline.
  int64_t incumbent() const { return incumbent_; }
  /// Resolved, without seed; 0: the baseline.
  const base::Json& config_of(int64_t experiment) const;

  /// Decided experiments that take part in the night's count: ideas and repairs, not vetoed ones.
  int64_t decided() const;

  // --- Runs of an incumbent ---

  /// The first seed that had no part in choosing it: the runs by which it won are better than it
  /// is. Errors: Error if the journal does not say which seeds chose it.
  int64_t first_seed(int64_t incumbent) const;
  bool is_measured_seed(int64_t incumbent, int64_t seed) const;
  /// Its completed runs on the seeds by which it is measured, but for `seeds`.
  std::vector<study::RunRecord> measured(int64_t incumbent,
                                         const std::set<int64_t>& seeds = {}) const;

  /// Their mean; nullopt if there is none.
  std::optional<double> measured_mean(int64_t incumbent) const;

  // --- Noise ---

  const study::RunRecord& first_baseline() const;
  /// Of the runs of ideas and their incumbents, one experiment's left out (`but`; 0: none).
  Noise noise(int64_t but = 0) const;
  /// From what was known before the experiment began, so that an interruption changes nothing:
  /// neither its runs nor those that its incumbent made for it.
  double seed_share_before(int64_t experiment) const;

 private:
  /// A finished run of the baseline, an idea or a repair: what noise is measured by.
  bool is_of_idea(const study::JournalRun& run) const;
  std::vector<const study::JournalRun*> arm_of(int64_t experiment, bool is_reference) const;

  const Program& program_;
  const study::Journal& journal_;
  base::Json baseline_;
  std::vector<study::Experiment> experiments_;
  std::vector<study::JournalRun> runs_;
  std::map<std::string, size_t> place_of_run_;
  std::map<int64_t, std::vector<size_t>> runs_of_;
  /// Leading experiments and runs that nothing changes any more.
  size_t settled_experiments_ = 0, settled_runs_ = 0;
  int64_t incumbent_ = 0;
};

}  // namespace windtunnel::agent

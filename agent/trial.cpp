#include "agent/trial.h"

#include "agent/research_space.h"
#include "base/error.h"

namespace windtunnel::agent {

using study::Experiment;
using study::JournalRun;

namespace {

std::string reference_id(const Trial& trial, int64_t seed) {
  return trial.reference_is_own ? run_id(trial.experiment, seed, true)
                                : run_id(trial.reference_of, seed);
}

}  // namespace

Trial trial_of(const Experiment& experiment, const NightState& state, const Program& program) {
  const std::string& kind = experiment.proposal.kind;
  Trial trial{.experiment = experiment.number,
              .candidate = runnable(experiment.config),
              .reference = runnable(state.config_of(experiment.parent)),
              .reference_of = experiment.parent};
  if (kind == study::kind::kScale) {
    // The other size changes the incumbent of the checked experiment as it changes that one.
    trial.reference = runnable(
        make_candidate(program, state.config_of(experiment.parent), program.scale.patch).resolved);
    trial.reference_is_own = true;
    trial.looks = {program.scale.pairs};
    for (int64_t seed = 1; seed <= program.scale.pairs; ++seed) trial.seeds.push_back(seed);
    return trial;
  }
  if (kind == study::kind::kMatchedSteps || kind == study::kind::kFactor) {
    trial.seeds = state.experiment(experiment.about).decision->seeds;
    trial.looks = {std::ssize(trial.seeds)};
    return trial;
  }
  trial.first_seed = state.first_seed(experiment.parent);
  if (kind == study::kind::kDiagnostic) {
    trial.looks = {1};
    return trial;
  }
  const std::vector<Experiment> history = state.history_before(experiment.number);
  trial.test = plan_test(program.decision, program.slots,
                         next_share(history, program.decision, program.night.experiments),
                         state.seed_share_before(experiment.number),
                         std::ssize(state.measured(experiment.parent)));
  trial.looks = trial.test->looks;
  return trial;
}

PlannedPairs plan_pairs(const Trial& trial, int64_t count, const NightState& state,
                        const Program& program) {
  PlannedPairs plan;
  if (!trial.seeds.empty()) {
    plan.seeds.assign(trial.seeds.begin(), trial.seeds.begin() + count);
  } else {
    const int64_t last =
        trial.first_seed + 2 * program.decision.max_pairs + program.baseline_runs();
    for (int64_t seed = trial.first_seed; std::ssize(plan.seeds) < count; ++seed) {
      const JournalRun* known = state.find_run(reference_id(trial, seed));
      if (!known || !known->record || known->record->completed()) {
        plan.seeds.push_back(seed);
      } else if (seed > last) {
        plan.problem = "too few runs of the incumbent completed to compare with; " +
                       how_it_ended(*known->record);
        return plan;
      }
    }
  }
  for (const int64_t seed : plan.seeds) {
    plan.runs.push_back(planned_run(trial.experiment, trial.candidate, seed));
  }
  for (const int64_t seed : plan.seeds) {
    plan.runs.push_back(trial.reference_is_own
                            ? reference_run(trial.experiment, trial.reference, seed)
                            : planned_run(trial.reference_of, trial.reference, seed));
  }
  return plan;
}

const study::RunRecord* failed_run(const Trial& trial, const NightState& state) {
  for (const auto& arm : {state.runs_of(trial.experiment), state.references_of(trial.experiment)}) {
    for (const JournalRun* run : arm) {
      if (run->record && !run->record->completed()) return &*run->record;
    }
  }
  return nullptr;
}

PairedRuns paired_runs(const Trial& trial, const std::vector<int64_t>& seeds,
                       const NightState& state) {
  PairedRuns paired;
  for (const int64_t seed : seeds) {
    const JournalRun* candidate = state.find_run(run_id(trial.experiment, seed));
    const JournalRun* reference = state.find_run(reference_id(trial, seed));
    base::check(candidate && candidate->record && reference && reference->record,
                "both runs of a pair have ended");
    if (!reference->record->completed()) paired.lacks_reference = true;
    paired.pairs.push_back({.candidate = *candidate->record, .incumbent = *reference->record});
  }
  return paired;
}

}  // namespace windtunnel::agent

#include "agent/experiment_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent/control.h"
#include "agent/early_abort.h"
#include "agent/follow_up.h"
#include "agent/research_space.h"
#include "agent/veto.h"
#include "study/curve_file.h"

namespace windtunnel::agent {

using study::Decision;
using study::Experiment;

namespace {

/// Why the experiment may not run, or nullopt.
std::optional<std::string> refused(const Experiment& experiment, const NightState& state,
                                   const Program& program) {
  const std::string& kind = experiment.proposal.kind;
  const base::Json& incumbent = state.config_of(experiment.parent);
  if (!study::may_be_kept(kind) && kind != study::kind::kDiagnostic) {
    // The harness's own: made of what was admitted already, but a part of it may be illegal alone.
    if (!experiment.config.is_null()) return std::nullopt;
    return make_candidate(program, incumbent, experiment.proposal.patch).problem;
  }
  const Candidate candidate = make_candidate(program, incumbent, experiment.proposal.patch);
  const std::vector<Experiment> history = state.history_before(experiment.number);
  const std::vector<Refusal> found = refusals(BeforeRun{.program = program,
                                                        .incumbent = incumbent,
                                                        .history = history,
                                                        .patch = experiment.proposal.patch,
                                                        .candidate = candidate});
  if (!found.empty()) return text(found);
  if (!candidate.config) return candidate.problem;
  const study::RunRecord& baseline = state.first_baseline();
  if (study::comparability_key(*candidate.config, baseline.data_fingerprint,
                               baseline.code_version) != baseline.comparability_key) {
    return "it changes data, budget, device, precision or threads: its runs could not be compared "
           "with the incumbent's";
  }
  return std::nullopt;
}

/// What vetoes after a run say about the candidate's, the first that says anything; "" if none.
std::string unfit(const Trial& trial, const std::vector<Pair>& pairs, const Program& program) {
  for (const Pair& pair : pairs) {
    const std::vector<Refusal> found = refusals(AfterRun{
        .program = program, .config = trial.candidate, .evaluation = *pair.candidate.evaluation});
    if (!found.empty()) return pair.candidate.id + ": " + text(found);
  }
  return "";
}

/// The seed of a candidate's run by its name; nullopt for other runs.
std::optional<int64_t> seed_of_candidate(const Trial& trial, const std::string& id) {
  const std::string prefix = run_id(trial.experiment, 0);
  const std::string_view stem = std::string_view(prefix).substr(0, prefix.size() - 1);
  if (!id.starts_with(stem)) return std::nullopt;
  return std::stoll(id.substr(stem.size()));
}

}  // namespace

void ExperimentMachine::step(const Experiment& experiment) {
  using Step = void (ExperimentMachine::*)(const Experiment&);
  static constexpr std::pair<const char*, Step> kSteps[] = {
      {study::state::kProposed, &ExperimentMachine::admit},
      {study::state::kAdmitted, &ExperimentMachine::reserve},
      {study::state::kReserved, &ExperimentMachine::run},
      {study::state::kEvaluated, &ExperimentMachine::diagnose},
      {study::state::kDiagnosed, &ExperimentMachine::judge}};
  for (const auto& [state, step] : kSteps) {
    if (experiment.state == state) return (this->*step)(experiment);
  }
  throw std::logic_error("internal error: an experiment in state '" + experiment.state + "'");
}

void ExperimentMachine::admit(const Experiment& experiment) {
  if (const auto refusal = refused(experiment, shop_.state, shop_.program)) {
    return decide(experiment, without_comparison(study::verdict::kVetoed, *refusal));
  }
  shop_.journal.advance(experiment.number, study::state::kAdmitted);
}

size_t ExperimentMachine::reservations(int64_t experiment) const {
  const auto transitions = shop_.journal.transitions(experiment);
  return static_cast<size_t>(std::count_if(
      transitions.begin(), transitions.end(),
      [](const study::Transition& step) { return step.state == study::state::kReserved; }));
}

int64_t ExperimentMachine::pairs_now(const Experiment& experiment, const Trial& trial) const {
  return trial.looks.at(reservations(experiment.number) - 1);
}

void ExperimentMachine::reserve(const Experiment& experiment) {
  const Trial trial = trial_of(experiment, shop_.state, shop_.program);
  const size_t before = reservations(experiment.number);
  const int64_t count = trial.looks.at(before);
  const PlannedPairs plan = plan_pairs(trial, count, shop_.state, shop_.program);
  if (!plan.problem.empty()) {
    return decide(experiment, without_comparison(study::verdict::kFailed, plan.problem));
  }
  const int64_t missing = shop_.state.missing(plan.runs);
  const double seconds = shop_.seconds_per_run(trial.candidate);
  std::optional<std::string> problem;
  shop_.journal.together([&] {
    problem = shop_.budget.reserve_runs(experiment.number, missing, seconds);
    if (problem) return;
    shop_.journal.advance(
        experiment.number, study::state::kReserved,
        fmt::format("{} pairs: {} runs of some {:.0f} s", count, missing, seconds));
  });
  if (!problem) return;
  // Stopping before a boundary is crossed keeps nothing, so it cannot keep anything falsely.
  decide(experiment,
         without_comparison(before > 0 ? study::verdict::kDiscard : study::verdict::kVetoed,
                            *problem));
}

void ExperimentMachine::run(const Experiment& experiment) {
  const Trial trial = trial_of(experiment, shop_.state, shop_.program);
  const int64_t count = pairs_now(experiment, trial);
  while (true) {
    const PlannedPairs plan = plan_pairs(trial, count, shop_.state, shop_.program);
    if (!plan.problem.empty()) {
      return decide(experiment, without_comparison(study::verdict::kFailed, plan.problem));
    }
    shop_.run(plan.runs, experiment.number,
              [&](study::Runner& runner) { abort_hopeless(experiment, trial, runner); });
    shop_.state.sync();
    if (failed_run(trial, shop_.state) ||
        !paired_runs(trial, plan.seeds, shop_.state).lacks_reference) {
      break;
    }
  }
  shop_.journal.together([&] {
    shop_.budget.settle_runs(experiment.number);
    shop_.journal.advance(experiment.number, study::state::kEvaluated,
                          fmt::format("{} pairs", count));
  });
}

void ExperimentMachine::diagnose(const Experiment& experiment) {
  const Trial trial = trial_of(experiment, shop_.state, shop_.program);
  if (const study::RunRecord* failed = failed_run(trial, shop_.state)) {
    const bool was_aborted = failed->train.outcome == study::outcome::kAborted;
    return decide(experiment,
                  without_comparison(was_aborted ? study::verdict::kAbort : study::verdict::kFailed,
                                     how_it_ended(*failed)));
  }
  const PlannedPairs plan =
      plan_pairs(trial, pairs_now(experiment, trial), shop_.state, shop_.program);
  shop_.journal.advance(
      experiment.number, study::state::kDiagnosed,
      unfit(trial, paired_runs(trial, plan.seeds, shop_.state).pairs, shop_.program));
}

void ExperimentMachine::judge(const Experiment& experiment) {
  const Trial trial = trial_of(experiment, shop_.state, shop_.program);
  const int64_t count = pairs_now(experiment, trial);
  const PlannedPairs plan = plan_pairs(trial, count, shop_.state, shop_.program);
  const std::vector<Pair> pairs = paired_runs(trial, plan.seeds, shop_.state).pairs;
  try {
    if (!trial.test) {
      return decide(experiment, decide_control(experiment, trial, pairs, shop_.state, shop_.program,
                                               shop_.study));
    }
    const std::set<int64_t> seeds(plan.seeds.begin(), plan.seeds.end());
    std::optional<Decision> decision = agent::judge(
        {pairs, shop_.state.measured(experiment.parent, seeds)},
        shop_.state.noise(experiment.number), *trial.test, experiment.proposal.prediction);
    if (!decision) {
      return shop_.journal.advance(experiment.number, study::state::kAdmitted,
                                   fmt::format("undecided after {} pairs", count));
    }
    const std::string problem = unfit(trial, pairs, shop_.program);
    if (decision->verdict == study::verdict::kKeep && !problem.empty()) {
      decision->verdict = study::verdict::kRepair;
      decision->expected_delta_bits_per_byte.reset();
      decision->reason += "; but " + problem;
    }
    decision->audited_abort = audited_abort(experiment, trial, pairs);
    decide(experiment, *decision);
  } catch (const NotComparable& error) {
    decide(experiment, without_comparison(study::verdict::kFailed, error.what()));
  }
}

void ExperimentMachine::decide(const Experiment& experiment, Decision decision) {
  decision.next = next_of(experiment, decision, shop_.program);
  shop_.journal.together([&] {
    shop_.budget.settle_runs(experiment.number);
    shop_.journal.decide(experiment.number, decision);
  });
}

// --- Early abort ---------------------------------------------------------------------------------

void ExperimentMachine::abort_hopeless(const Experiment& experiment, const Trial& trial,
                                       study::Runner& runner) const {
  const AbortRule& rule = shop_.program.abort;
  if (rule.progress <= 0 || !trial.test ||
      is_audited(rule, shop_.program.night.seed, experiment.number)) {
    return;
  }
  for (const study::RunProgress& run : runner.progress()) {
    if (run.phase != "training" || run.latest.progress < rule.progress) continue;
    const auto seed = seed_of_candidate(trial, run.id);
    if (!seed) continue;
    const auto reason = gives_up(rule, {run.latest}, curve_of(run_id(trial.reference_of, *seed)));
    if (reason) runner.abort(run.id, *reason);
  }
}

std::optional<std::string> ExperimentMachine::audited_abort(const Experiment& experiment,
                                                            const Trial& trial,
                                                            const std::vector<Pair>& pairs) const {
  const AbortRule& rule = shop_.program.abort;
  if (rule.progress <= 0 || !is_audited(rule, shop_.program.night.seed, experiment.number)) {
    return std::nullopt;
  }
  for (const Pair& pair : pairs) {
    if (auto reason =
            would_have_given_up(rule, curve_of(pair.candidate.id),
                                curve_of(run_id(trial.reference_of, pair.candidate.seed)))) {
      return pair.candidate.id + ": " + *reason;
    }
  }
  return std::nullopt;
}

std::vector<study::CurvePoint> ExperimentMachine::curve_of(const std::string& run) const {
  return study::read_curve(shop_.study / "runs" / run / "curve.jsonl");
}

}  // namespace windtunnel::agent

#include "agent/summary.h"

namespace windtunnel::agent {

namespace {

KeptStep step_of(const study::Experiment& experiment, std::optional<double> bits_per_byte,
                 const std::vector<KeptStep>& before) {
  const study::Decision& decision = *experiment.decision;
  KeptStep step{.experiment = experiment.number,
                .proposer = experiment.proposal.proposer,
                .hypothesis = experiment.proposal.hypothesis,
                .patch = experiment.proposal.patch,
                .delta_bits_per_byte = decision.delta_bits_per_byte.value_or(0),
                .interval_low = decision.interval_low,
                .interval_high = decision.interval_high,
                .expected_delta_bits_per_byte = decision.expected_delta_bits_per_byte,
                .bits_per_byte = bits_per_byte};
  step.cumulative_delta_bits_per_byte = step.delta_bits_per_byte;
  step.cumulative_expected_delta_bits_per_byte = step.expected_delta_bits_per_byte.value_or(0);
  if (!before.empty()) {
    step.cumulative_delta_bits_per_byte += before.back().cumulative_delta_bits_per_byte;
    step.cumulative_expected_delta_bits_per_byte +=
        before.back().cumulative_expected_delta_bits_per_byte;
  }
  return step;
}

}  // namespace

NightSummary summarise(const study::Journal& journal) {
  NightSummary summary;
  const std::vector<study::ScoredGroup> groups = journal.scored_groups();
  for (const study::ScoredGroup& group : groups) {
    if (group.verdict.empty()) {
      summary.undecided += group.experiments;
    } else if (!study::may_be_kept(group.kind)) {
      summary.controls += group.experiments;
    } else {
      for (const auto& [name, sum] : {std::pair{study::verdict::kKeep, &summary.kept},
                                      {study::verdict::kDiscard, &summary.discarded},
                                      {study::verdict::kRepair, &summary.repair},
                                      {study::verdict::kFailed, &summary.failed},
                                      {study::verdict::kVetoed, &summary.vetoed},
                                      {study::verdict::kAbort, &summary.aborted}}) {
        if (group.verdict == name) *sum += group.experiments;
      }
    }
  }
  const study::Journal::RunCounts runs = journal.run_counts();
  summary.runs = runs.finished;
  summary.runs_completed = runs.completed;
  summary.device_seconds = runs.wall_seconds;
  if (const auto baseline = journal.fact(fact::kBaseline)) {
    summary.best_config = baseline->at("config");
  }
  for (const study::Experiment& experiment : journal.kept_experiments()) {
    if (!experiment.is_kept()) {
      --summary.kept;
      ++summary.doubted;
      continue;
    }
    summary.staircase.push_back(
        step_of(experiment, journal.mean_bits_per_byte(experiment.number), summary.staircase));
    summary.best_config = experiment.config;
    summary.incumbent = experiment.number;
  }
  summary.baseline_bits_per_byte = journal.mean_bits_per_byte(0);
  summary.best_bits_per_byte = journal.mean_bits_per_byte(summary.incumbent);
  if (const auto noise = journal.fact(fact::kNoise)) {
    summary.noise = base::from_trusted_json<Noise>(*noise);
  }
  summary.calibration = study::calibrate(groups);
  summary.abort_audit = journal.abort_audit();
  if (const auto stop = journal.fact(fact::kStop)) {
    summary.stop_reason = stop->at("reason").get<std::string>();
  }
  return summary;
}

}  // namespace windtunnel::agent

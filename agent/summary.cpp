#include "agent/summary.h"

#include "agent/decision.h"

namespace windtunnel::agent {

int64_t incumbent_of(const std::vector<study::Experiment>& experiments) {
  int64_t incumbent = 0;
  for (const study::Experiment& experiment : experiments) {
    if (experiment.decision && experiment.decision->verdict == study::verdict::kKeep) {
      incumbent = experiment.number;
    }
  }
  return incumbent;
}

std::optional<double> mean_bits_per_byte(const std::vector<study::JournalRun>& runs,
                                         int64_t experiment) {
  double sum = 0;
  int64_t count = 0;
  for (const study::JournalRun& run : runs) {
    if (run.experiment != experiment || !run.record || !run.record->completed()) continue;
    sum += *run.record->bits_per_byte();
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

namespace {

void count_verdict(NightSummary& summary, const study::Experiment& experiment) {
  if (!experiment.decision) {
    ++summary.undecided;
    return;
  }
  const std::string& verdict = experiment.decision->verdict;
  if (verdict == study::verdict::kKeep) ++summary.kept;
  if (verdict == study::verdict::kDiscard) ++summary.discarded;
  if (verdict == study::verdict::kRepair) ++summary.repair;
  if (verdict == study::verdict::kFailed) ++summary.failed;
  if (verdict == study::verdict::kVetoed) ++summary.vetoed;
}

KeptStep step_of(const study::Experiment& experiment, const std::vector<study::JournalRun>& runs,
                 const std::vector<KeptStep>& before) {
  const study::Decision& decision = *experiment.decision;
  KeptStep step{.experiment = experiment.number,
                .proposer = experiment.proposal.proposer,
                .hypothesis = experiment.proposal.hypothesis,
                .patch = experiment.proposal.patch,
                .delta_bits_per_byte = decision.delta_bits_per_byte.value_or(0),
                .interval_low = decision.interval_low,
                .interval_high = decision.interval_high,
                .expected_delta_bits_per_byte = expected_difference(decision),
                .bits_per_byte = mean_bits_per_byte(runs, experiment.number)};
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
  const std::vector<study::Experiment> experiments = journal.experiments();
  const std::vector<study::JournalRun> runs = journal.runs();
  for (const study::JournalRun& run : runs) {
    if (!run.experiment || !run.record) continue;
    ++summary.runs;
    if (run.record->completed()) ++summary.runs_completed;
  }
  if (const auto baseline = journal.fact(fact::kBaseline)) {
    summary.best_config = baseline->at("config");
  }
  for (const study::Experiment& experiment : experiments) {
    count_verdict(summary, experiment);
    if (!experiment.decision || experiment.decision->verdict != study::verdict::kKeep) continue;
    summary.staircase.push_back(step_of(experiment, runs, summary.staircase));
    summary.best_config = experiment.config;
  }
  summary.incumbent = incumbent_of(experiments);
  summary.baseline_bits_per_byte = mean_bits_per_byte(runs, 0);
  summary.best_bits_per_byte = mean_bits_per_byte(runs, summary.incumbent);
  if (const auto noise = journal.fact(fact::kNoise)) {
    summary.noise = base::from_trusted_json<Noise>(*noise);
  }
  summary.calibration = calibrate(experiments);
  if (const auto stop = journal.fact(fact::kStop)) {
    summary.stop_reason = stop->at("reason").get<std::string>();
  }
  return summary;
}

}  // namespace windtunnel::agent

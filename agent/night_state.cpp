#include "agent/night_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace windtunnel::agent {

using study::Experiment;
using study::JournalRun;
using study::RunRecord;

std::string run_id(int64_t experiment, int64_t seed, bool is_reference) {
  if (experiment == 0) return fmt::format("baseline-s{}", seed);
  return fmt::format("e{:03}{}-s{}", experiment, is_reference ? "-reference" : "", seed);
}

study::RunConfig runnable(const base::Json& config) {
  return base::from_trusted_json<study::RunConfig>(config);
}

study::PlannedRun planned_run(int64_t experiment, study::RunConfig config, int64_t seed) {
  config.train.seed = seed;
  return {.request = {.id = run_id(experiment, seed),
                      .purpose = experiment == 0 ? "baseline" : "candidate",
                      .config = std::move(config),
                      .resume = true},
          .experiment = experiment};
}

study::PlannedRun reference_run(int64_t experiment, study::RunConfig config, int64_t seed) {
  study::PlannedRun run = planned_run(experiment, std::move(config), seed);
  run.request.id = run_id(experiment, seed, true);
  run.request.purpose = study::kReferencePurpose;
  return run;
}

std::string how_it_ended(const RunRecord& record) {
  return "run " + record.id + " ended as " + record.train.outcome +
         (record.train.message.empty() ? "" : ": " + record.train.message);
}

NightState::NightState(const Program& program, const study::Journal& journal, base::Json baseline)
    : program_(program), journal_(journal), baseline_(std::move(baseline)) {
  sync();
}

void NightState::sync() {
  experiments_.resize(settled_experiments_);
  for (Experiment& experiment :
       journal_.experiments(static_cast<int64_t>(settled_experiments_) + 1)) {
    experiments_.push_back(std::move(experiment));
  }
  while (settled_experiments_ < experiments_.size() &&
         experiments_[settled_experiments_].decision) {
    ++settled_experiments_;
  }

  for (size_t place = settled_runs_; place < runs_.size(); ++place) {
    place_of_run_.erase(runs_[place].id);
    if (runs_[place].experiment) runs_of_[*runs_[place].experiment].pop_back();
  }
  runs_.resize(settled_runs_);
  for (JournalRun& run : journal_.runs(static_cast<int64_t>(settled_runs_))) {
    place_of_run_[run.id] = runs_.size();
    if (run.experiment) runs_of_[*run.experiment].push_back(runs_.size());
    runs_.push_back(std::move(run));
  }
  while (settled_runs_ < runs_.size() && runs_[settled_runs_].record) ++settled_runs_;

  // A doubt may fall on any kept experiment, whenever.
  for (const Experiment& kept : journal_.kept_experiments()) {
    experiments_[static_cast<size_t>(kept.number) - 1].doubt = kept.doubt;
  }
  incumbent_ = 0;
  for (const Experiment& experiment : experiments_) {
    if (experiment.is_kept()) incumbent_ = experiment.number;
  }
}

void NightState::reflected(int64_t experiment, const study::Reflection& word) {
  auto& reflection = experiments_.at(static_cast<size_t>(experiment) - 1).reflection;
  if (!reflection) reflection = word;
}

const Experiment& NightState::experiment(int64_t number) const {
  return experiments_.at(static_cast<size_t>(number) - 1);
}

const JournalRun* NightState::find_run(const std::string& id) const {
  const auto place = place_of_run_.find(id);
  return place == place_of_run_.end() ? nullptr : &runs_[place->second];
}

int64_t NightState::missing(const std::vector<study::PlannedRun>& plan) const {
  return std::count_if(plan.begin(), plan.end(), [&](const study::PlannedRun& planned) {
    const JournalRun* known = find_run(planned.request.id);
    return !known || !known->record;
  });
}

std::vector<const JournalRun*> NightState::runs_of(int64_t experiment) const {
  return arm_of(experiment, false);
}

std::vector<const JournalRun*> NightState::references_of(int64_t experiment) const {
  return arm_of(experiment, true);
}

std::vector<const JournalRun*> NightState::arm_of(int64_t experiment, bool is_reference) const {
  std::vector<const JournalRun*> found;
  const auto places = runs_of_.find(experiment);
  if (places == runs_of_.end()) return found;
  for (const size_t place : places->second) {
    if (runs_[place].is_reference() == is_reference) found.push_back(&runs_[place]);
  }
  return found;
}

std::vector<Experiment> NightState::history_before(int64_t experiment) const {
  return {experiments_.begin(), experiments_.begin() + static_cast<std::ptrdiff_t>(experiment) - 1};
}

const base::Json& NightState::config_of(int64_t experiment) const {
  return experiment == 0 ? baseline_ : this->experiment(experiment).config;
}

int64_t NightState::decided() const {
  return std::count_if(experiments_.begin(), experiments_.end(), [](const Experiment& experiment) {
    return experiment.decision && study::may_be_kept(experiment.proposal.kind) &&
           experiment.decision->verdict != study::verdict::kVetoed;
  });
}

int64_t NightState::first_seed(int64_t incumbent) const {
  if (incumbent == 0) return 1;
  const auto& seeds = experiment(incumbent).decision->seeds;
  if (seeds.empty()) {
    throw base::Error(fmt::format(
        "the journal does not say which seeds chose experiment {}: it was made by an earlier "
        "version; finish it there, or start over with --fresh",
        incumbent));
  }
  return *std::max_element(seeds.begin(), seeds.end()) + 1;
}

bool NightState::is_measured_seed(int64_t incumbent, int64_t seed) const {
  const int64_t first = first_seed(incumbent);
  return seed >= first && seed < first + program_.decision.incumbent_runs;
}

std::vector<RunRecord> NightState::measured(int64_t incumbent,
                                            const std::set<int64_t>& seeds) const {
  std::vector<RunRecord> records;
  for (const JournalRun* run : runs_of(incumbent)) {
    if (run->record && run->record->completed() && is_measured_seed(incumbent, run->seed) &&
        !seeds.contains(run->seed)) {
      records.push_back(*run->record);
    }
  }
  return records;
}

std::optional<double> NightState::measured_mean(int64_t incumbent) const {
  const std::vector<RunRecord> records = measured(incumbent);
  if (records.empty()) return std::nullopt;
  double sum = 0;
  for (const RunRecord& record : records) sum += *record.bits_per_byte();
  return sum / static_cast<double>(records.size());
}

const RunRecord& NightState::first_baseline() const {
  for (const JournalRun* run : runs_of(0)) {
    if (run->record && run->record->completed()) return *run->record;
  }
  throw std::logic_error("internal error: a night without a baseline");
}

bool NightState::is_of_idea(const JournalRun& run) const {
  return run.experiment && run.record &&
         (*run.experiment == 0 || study::may_be_kept(experiment(*run.experiment).proposal.kind));
}

Noise NightState::noise(int64_t but) const {
  std::vector<RunRecord> records;
  for (const JournalRun& run : runs_) {
    if (!is_of_idea(run) || (but != 0 && *run.experiment == but)) continue;
    records.push_back(*run.record);
  }
  return measure_noise(records, first_baseline().comparability_key);
}

double NightState::seed_share_before(int64_t experiment) const {
  const int64_t incumbent = this->experiment(experiment).parent;
  std::vector<RunRecord> records;
  for (const JournalRun& run : runs_) {
    if (!is_of_idea(run) || *run.experiment == experiment) continue;
    if (*run.experiment == incumbent && run.seed >= first_seed(incumbent) &&
        !is_measured_seed(incumbent, run.seed)) {
      continue;
    }
    records.push_back(*run.record);
  }
  return measure_noise(records, first_baseline().comparability_key).seed_share();
}

}  // namespace windtunnel::agent

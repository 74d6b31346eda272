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

std::vector<const JournalRun*> NightState::runs_of(int64_t experiment) const {
  std::vector<const JournalRun*> found;
  const auto places = runs_of_.find(experiment);
  if (places == runs_of_.end()) return found;
  for (const size_t place : places->second) found.push_back(&runs_[place]);
  return found;
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

const RunRecord& NightState::first_baseline() const {
  for (const JournalRun* run : runs_of(0)) {
    if (run->record && run->record->completed()) return *run->record;
  }
  throw std::logic_error("internal error: a night without a baseline");
}

Noise NightState::noise(int64_t but) const {
  std::vector<RunRecord> records;
  for (const JournalRun& run : runs_) {
    if (!run.experiment || !run.record) continue;
    if (*run.experiment != 0 && (*run.experiment == but ||
                                 !study::may_be_kept(experiment(*run.experiment).proposal.kind))) {
      continue;
    }
    records.push_back(*run.record);
  }
  return measure_noise(records, first_baseline().comparability_key);
}

double NightState::seed_share_before(int64_t experiment) const {
  const int64_t incumbent = this->experiment(experiment).parent;
  std::vector<RunRecord> records;
  for (const JournalRun& run : runs_) {
    if (!run.experiment || *run.experiment == experiment || !run.record) continue;
    if (*run.experiment != 0 &&
        !study::may_be_kept(this->experiment(*run.experiment).proposal.kind)) {
      continue;
    }
    if (*run.experiment == incumbent && run.seed >= first_seed(incumbent) &&
        !is_measured_seed(incumbent, run.seed)) {
      continue;
    }
    records.push_back(*run.record);
  }
  return measure_noise(records, first_baseline().comparability_key).seed_share();
}

}  // namespace windtunnel::agent

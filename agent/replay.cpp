#include "agent/replay.h"

#include <algorithm>
#include <deque>
#include <map>

#include "agent/research.h"
#include "base/error.h"

namespace windtunnel::agent {

using base::Json;
using study::Experiment;
using study::RunRecord;

namespace {

/// Ends each run at once as it is recorded: by name, or as any run of that configuration and seed.
class RecordedRunner final : public study::Runner {
 public:
  RecordedRunner(const study::Journal& recorded, int slots) : slots_(slots) {
    for (const study::JournalRun& run : recorded.runs()) {
      if (!run.record) continue;
      by_id_[run.id] = *run.record;
      by_config_[{run.record->config_fingerprint, run.seed}] = *run.record;
    }
  }

  int slots() const override { return slots_; }
  int running() const override { return static_cast<int>(in_flight_.size()); }
  void start(const study::RunRequest& request) override { in_flight_.push_back(request); }

  std::optional<RunRecord> poll() override {
    if (in_flight_.empty()) return std::nullopt;
    const study::RunRequest request = std::move(in_flight_.front());
    in_flight_.pop_front();
    RunRecord record = recorded(request);
    record.id = request.id;
    record.purpose = request.purpose;
    return record;
  }

  std::vector<study::RunProgress> progress() const override { return {}; }
  void abort(const std::string&, const std::string&) override {}
  void stop_all() override { in_flight_.clear(); }

  int64_t used() const { return used_; }

 private:
  RunRecord recorded(const study::RunRequest& request) {
    const std::string fingerprint = study::config_fingerprint(request.config);
    const auto same = by_id_.find(request.id);
    if (same != by_id_.end() && same->second.config_fingerprint == fingerprint) {
      ++used_;
      return same->second;
    }
    const auto other = by_config_.find({fingerprint, request.config.train.seed});
    if (other != by_config_.end()) {
      ++used_;
      return other->second;
    }
    RunRecord missing;
    missing.seed = request.config.train.seed;
    missing.config_fingerprint = fingerprint;
    missing.train.outcome = study::outcome::kRefused;
    missing.train.message = "the recorded night never made this run";
    return missing;
  }

  int slots_;
  std::map<std::string, RunRecord> by_id_;
  std::map<std::pair<std::string, int64_t>, RunRecord> by_config_;
  std::deque<study::RunRequest> in_flight_;
  int64_t used_ = 0;
};

class Silent final : public NightView {
 public:
  void update(const NightProgress&) override {}
  void line(const std::string&) override {}
};

bool is_proposed(const Experiment& experiment) { return experiment.about == 0; }

/// The recorded proposals in their order; each rule-based proposer is asked again beside it.
class RecordedProposals {
 public:
  RecordedProposals(const study::Journal& recorded, const Program& program) {
    for (const Experiment& experiment : recorded.experiments()) {
      if (is_proposed(experiment)) experiments_.push_back(experiment);
    }
    for (const Json& entry : program.proposers) add(entry);
    if (!proposers_.contains("random")) add({{"kind", "random"}});
  }

  std::optional<study::Proposal> next(const ProposalContext& context) {
    const auto place = static_cast<size_t>(
        std::count_if(context.history.begin(), context.history.end(), is_proposed));
    if (place >= experiments_.size()) return std::nullopt;
    const Experiment& recorded = experiments_[place];
    const auto proposer = proposers_.find(recorded.proposal.proposer);
    if (proposer != proposers_.end()) {
      const auto again = proposer->second->propose(context);
      if (!again || again->patch != recorded.proposal.patch) {
        notes[std::ssize(context.history) + 1] =
            "asked again, " + recorded.proposal.proposer +
            (again ? " proposes " + again->patch.dump() : " proposes nothing");
      }
    }
    return recorded.proposal;
  }

  /// By number of the replayed experiment.
  std::map<int64_t, std::string> notes;

 private:
  void add(const Json& entry) {
    const std::string name = entry.at("kind");
    const auto& kind = ProposerKinds::instance().get(name, "proposer");
    if (!kind.entry.is_rule_based) return;
    Json options = entry;
    options.erase("kind");
    options.erase("share");
    proposers_[name] = kind.entry.make(options, {});
  }

  std::vector<Experiment> experiments_;
  std::map<std::string, std::unique_ptr<Proposer>> proposers_;
};

std::string stop_of(const study::Journal& journal) {
  const auto stop = journal.fact(fact::kStop);
  return stop ? stop->at("reason").get<std::string>() : std::string();
}

ReplayedExperiment row_of(const Experiment* recorded, const Experiment* replayed) {
  const Experiment& any = recorded ? *recorded : *replayed;
  ReplayedExperiment row{
      .number = any.number, .kind = any.proposal.kind, .hypothesis = any.proposal.hypothesis};
  if (recorded && recorded->decision) {
    row.recorded = recorded->decision->verdict;
    row.recorded_delta = recorded->decision->delta_bits_per_byte;
  }
  if (replayed && replayed->decision) {
    row.replayed = replayed->decision->verdict;
    row.replayed_delta = replayed->decision->delta_bits_per_byte;
    if (replayed->decision->reason.find("never made this run") != std::string::npos) {
      row.note = "the recorded night never made the runs that it would take";
    }
  }
  row.is_same = recorded && replayed && recorded->decision && replayed->decision &&
                recorded->proposal.kind == replayed->proposal.kind &&
                recorded->parent == replayed->parent &&
                base::to_json(*recorded->decision) == base::to_json(*replayed->decision);
  return row;
}

}  // namespace

bool Replay::is_same() const {
  // A night that is not over, or that the clock or the purse ended, leaves the replay without
  // proposals.
  const bool same_stop =
      recorded_stop == replayed_stop || replayed_stop == stop_reason::kNoProposals;
  return same_stop && std::all_of(experiments.begin(), experiments.end(),
                                  [](const ReplayedExperiment& row) { return row.is_same; });
}

Replay replay(const std::filesystem::path& study, const std::vector<std::string>& overrides) {
  const study::Journal recorded(study / "journal.db", /*read_only=*/true);
  const auto document = recorded.fact(fact::kProgram);
  if (!document) {
    throw base::Error("study " + study.string() +
                      " holds no night to replay: run windtunnel research first");
  }
  Program program = stored_program(*document, overrides);
  // Nothing is spent, and what the record's clock stopped is in its proposals.
  program.budget.hours = 0;
  program.budget.dollars = 0;
  // Under other rules, runs that were never made are no reason to stop.
  if (!overrides.empty()) program.night.max_consecutive_failures = program.night.experiments + 1;
  study::Journal journal(":memory:");
  RecordedRunner runner(recorded, static_cast<int>(program.slots));
  RecordedProposals proposals(recorded, program);
  Silent view;
  run_night(program, journal, runner, study, view,
            [&](const ProposalContext& context) { return proposals.next(context); });

  Replay result{.recorded_stop = stop_of(recorded), .replayed_stop = stop_of(journal)};
  result.runs = runner.used();
  const std::vector<Experiment> before = recorded.experiments();
  const std::vector<Experiment> after = journal.experiments();
  std::vector<bool> is_shown(after.size());
  const auto add = [&](const Experiment* first, const Experiment* second) {
    ReplayedExperiment row = row_of(first, second);
    const auto note = second ? proposals.notes.find(second->number) : proposals.notes.end();
    if (note != proposals.notes.end()) row.note = note->second;
    result.experiments.push_back(std::move(row));
  };
  for (const Experiment& experiment : before) {
    const auto same = std::find_if(after.begin(), after.end(), [&](const Experiment& other) {
      return !is_shown[static_cast<size_t>(other.number) - 1] &&
             other.proposal.kind == experiment.proposal.kind &&
             other.proposal.patch == experiment.proposal.patch;
    });
    if (same != after.end()) is_shown[static_cast<size_t>(same->number) - 1] = true;
    add(&experiment, same == after.end() ? nullptr : &*same);
  }
  for (const Experiment& experiment : after) {
    if (!is_shown[static_cast<size_t>(experiment.number) - 1]) add(nullptr, &experiment);
  }
  return result;
}

}  // namespace windtunnel::agent

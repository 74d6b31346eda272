#include "study/journal_database.h"

namespace windtunnel::study {
namespace {

using base::Error;

Experiment read_experiment(const Statement& row) {
  Experiment experiment;
  experiment.number = row.integer(0);
  experiment.parent = row.integer(1);
  experiment.about = row.integer(2);
  experiment.thread = row.integer(3);
  experiment.config_fingerprint = row.text(4);
  experiment.state = row.text(5);
  experiment.doubt = row.text(6);
  experiment.proposed_at = row.text(7);
  experiment.proposal = base::from_trusted_json<Proposal>(row.json(8));
  experiment.config = row.json(9);
  if (!row.is_null(10)) experiment.decision = base::from_trusted_json<Decision>(row.json(10));
  if (!row.is_null(11)) experiment.reflection = base::from_trusted_json<Reflection>(row.json(11));
  return experiment;
}

constexpr const char* kExperimentSelect =
    "SELECT number, parent, about, thread, config_fingerprint, state, doubt, proposed_at, "
    "proposal, config, decision, reflection FROM experiments JOIN experiment_documents "
    "USING(number) ";

}  // namespace

int64_t Journal::add_experiment(const Experiment& experiment) {
  const Proposal& proposal = experiment.proposal;
  const Prediction& predicted = proposal.prediction;
  int64_t number = 0;
  together([&] {
    Statement(parts_->database,
              "INSERT INTO experiments(kind, proposer, family, parent, about, thread, "
              "config_fingerprint, state, predicted_delta, predicted_low, predicted_high, "
              "predicted_kept, predicted_throughput, proposed_at) "
              "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(proposal.kind)
        .bind(proposal.author())
        .bind(family_of(proposal))
        .bind(experiment.parent)
        .bind(experiment.about)
        .bind(experiment.thread)
        .bind(experiment.config_fingerprint)
        .bind(std::string(state::kProposed))
        .bind(predicted.delta_bits_per_byte)
        .bind(predicted.interval_low)
        .bind(predicted.interval_high)
        .bind(predicted.probability_kept)
        .bind(predicted.throughput_change)
        .bind(base::utc_now())
        .run();
    number = sqlite3_last_insert_rowid(parts_->database);
    Statement(parts_->database,
              "UPDATE experiments SET thread = number WHERE number = ? AND thread = 0")
        .bind(number)
        .run();
    Statement(parts_->database,
              "INSERT INTO experiment_documents(number, proposal, config) VALUES(?, ?, ?)")
        .bind(number)
        .bind(dump(base::to_json(proposal)))
        .bind(dump(experiment.config))
        .run();
    add_transition(number, state::kProposed, "");
  });
  return number;
}

void Journal::add_transition(int64_t experiment, const std::string& state,
                             const std::string& detail) {
  Statement(parts_->database,
            "INSERT INTO transitions(experiment, state, detail, time) VALUES(?, ?, ?, ?)")
      .bind(experiment)
      .bind(state)
      .bind(detail)
      .bind(base::utc_now())
      .run();
}

void Journal::require_undecided(int64_t experiment, int changed) {
  if (changed == 1) return;
  throw Error("experiment " + std::to_string(experiment) + " is decided already or does not exist");
}

void Journal::advance(int64_t experiment, const std::string& state, const std::string& detail) {
  together([&] {
    require_undecided(experiment,
                      Statement(parts_->database,
                                "UPDATE experiments SET state = ? WHERE number = ? AND state <> ?")
                          .bind(state)
                          .bind(experiment)
                          .bind(std::string(state::kDecided))
                          .run());
    add_transition(experiment, state, detail);
  });
}

void Journal::decide(int64_t experiment, const Decision& decision) {
  const std::optional<int64_t> covered = decision.prediction_covered
                                             ? std::optional<int64_t>(*decision.prediction_covered)
                                             : std::nullopt;
  together([&] {
    require_undecided(
        experiment,
        Statement(parts_->database,
                  "UPDATE experiments SET state = ?, verdict = ?, delta = ?, covered = ?, "
                  "throughput = ?, decided_at = ? WHERE number = ? AND state <> ?")
            .bind(std::string(state::kDecided))
            .bind(decision.verdict)
            .bind(decision.delta_bits_per_byte)
            .bind(covered)
            .bind(decision.throughput_change)
            .bind(base::utc_now())
            .bind(experiment)
            .bind(std::string(state::kDecided))
            .run());
    Statement(parts_->database, "UPDATE experiment_documents SET decision = ? WHERE number = ?")
        .bind(dump(base::to_json(decision)))
        .bind(experiment)
        .run();
    add_transition(experiment, state::kDecided, decision.verdict);
  });
}

void Journal::reflect(int64_t experiment, const Reflection& reflection) {
  Statement(
      parts_->database,
      "UPDATE experiment_documents SET reflection = ? WHERE number = ? AND reflection IS NULL")
      .bind(dump(base::to_json(reflection)))
      .bind(experiment)
      .run();
}

void Journal::doubt(int64_t experiment, const std::string& reason) {
  Statement(parts_->database, "UPDATE experiments SET doubt = ? WHERE number = ? AND doubt = ''")
      .bind(reason)
      .bind(experiment)
      .run();
}

std::vector<Experiment> Journal::experiments(int64_t from) const {
  std::vector<Experiment> result;
  Statement row(parts_->database,
                (std::string(kExperimentSelect) + "WHERE number >= ? ORDER BY number").c_str());
  row.bind(from);
  while (row.step()) result.push_back(read_experiment(row));
  return result;
}

std::optional<Experiment> Journal::experiment(int64_t number) const {
  Statement row(parts_->database, (std::string(kExperimentSelect) + "WHERE number = ?").c_str());
  row.bind(number);
  if (!row.step()) return std::nullopt;
  return read_experiment(row);
}

int64_t Journal::experiment_count() const {
  Statement row(parts_->database, "SELECT coalesce(max(number), 0) FROM experiments");
  row.step();
  return row.integer(0);
}

std::vector<Experiment> Journal::kept_experiments() const {
  std::vector<Experiment> result;
  Statement row(
      parts_->database,
      (std::string(kExperimentSelect) + "WHERE verdict = 'keep' ORDER BY number").c_str());
  while (row.step()) result.push_back(read_experiment(row));
  return result;
}

std::vector<ScoredGroup> Journal::scored_groups() const {
  std::vector<ScoredGroup> result;
  Statement row(
      parts_->database,
      "SELECT kind, proposer, family, coalesce(verdict, ''), count(*), sum(doubt <> ''), "
      "count(delta), sum(delta IS NOT NULL AND coalesce(covered, 0)), "
      "total(predicted_delta - delta), total(abs(predicted_delta - delta)), "
      "count(predicted_kept), total(predicted_kept), total(predicted_kept * predicted_kept), "
      "count(predicted_throughput - throughput), total(abs(predicted_throughput - throughput)) "
      "FROM experiments GROUP BY kind, proposer, family, verdict");
  while (row.step()) {
    result.push_back({.kind = row.text(0),
                      .proposer = row.text(1),
                      .family = row.text(2),
                      .verdict = row.text(3),
                      .experiments = row.integer(4),
                      .doubted = row.integer(5),
                      .measured = row.integer(6),
                      .covered = row.integer(7),
                      .error = row.real(8),
                      .absolute_error = row.real(9),
                      .probabilities = row.integer(10),
                      .probability = row.real(11),
                      .squared_probability = row.real(12),
                      .throughputs = row.integer(13),
                      .throughput_error = row.real(14)});
  }
  return result;
}

AbortAudit Journal::abort_audit() const {
  AbortAudit audit;
  Statement aborted(parts_->database, "SELECT count(*) FROM experiments WHERE verdict = ?");
  aborted.bind(verdict::kAbort).step();
  audit.aborted = aborted.integer(0);
  Statement audited(parts_->database,
                    "SELECT count(*), coalesce(sum(verdict = ? AND doubt = ''), 0) "
                    "FROM experiment_documents JOIN experiments USING(number) "
                    "WHERE json_extract(decision, '$.audited_abort') IS NOT NULL");
  audited.bind(verdict::kKeep).step();
  audit.audited = audited.integer(0);
  audit.audited_and_kept = audited.integer(1);
  return audit;
}

std::vector<Transition> Journal::transitions(int64_t experiment) const {
  std::vector<Transition> result;
  Statement row(parts_->database,
                "SELECT state, detail, time FROM transitions WHERE experiment = ? ORDER BY id");
  row.bind(experiment);
  while (row.step()) result.push_back({experiment, row.text(0), row.text(1), row.text(2)});
  return result;
}

}  // namespace windtunnel::study

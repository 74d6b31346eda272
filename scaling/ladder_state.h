#pragma once
// Where a ladder stands: which runs its plan asks for now, which rate each size got and why. A pure
// function of the plan and of the records there are, so that it comes out the same after any kill,
// whatever order the runs ended in.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scaling/ladder.h"

namespace windtunnel::scaling {

struct TriedRate {
  double learning_rate = 0;
  std::string run;
  /// An outcome, or "pending".
  std::string outcome;
  std::optional<double> bits_per_byte;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("learning_rate", self.learning_rate, {.help = "peak"});
    visit("run", self.run, {.help = "id, at the first seed"});
    visit("outcome", self.outcome, {.help = "how the run ended; pending: it has not"});
    visit("bits_per_byte", self.bits_per_byte, {.help = "null: not scored"});
  }
};

struct RungOutcome {
  std::string name;
  std::string size;
  std::string curve;
  std::string base_rung;
  bool held_out = false;
  /// "waiting" for smaller sizes, "running", "done", "failed": no run of it gave a loss.
  std::string state;
  /// Null until it is known.
  std::optional<double> learning_rate;
  /// A name of rate_status; "" until it is known.
  std::string rate_status;
  std::string rate_note;
  /// Minimum between the rates tried.
  std::optional<double> optimal_learning_rate;
  std::vector<TriedRate> tried;
  /// Ids at the chosen rate, by seed.
  std::vector<std::string> runs;
  /// Mean over the completed ones.
  std::optional<double> bits_per_byte;
  /// Passes over the training split, as its runs counted them; before, as planned.
  std::optional<double> epochs;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "of the planned rung"});
    visit("size", self.size, {.help = "name of the size"});
    visit("curve", self.curve, {.help = "name of the curve"});
    visit("base_rung", self.base_rung, {.help = "it is paired with; empty: of the base's curve"});
    visit("held_out", self.held_out, {.help = "forecast, not fitted"});
    visit("state", self.state, {.help = "waiting, running, done, failed"});
    visit("learning_rate", self.learning_rate, {.help = "chosen; null: not known yet"});
    visit("rate_status", self.rate_status, {.help = "given, extrapolated, tuned, edge"});
    visit("rate_note", self.rate_note, {.help = "why"});
    visit("optimal_learning_rate", self.optimal_learning_rate,
          {.help = "minimum between the rates tried"});
    visit("tried", self.tried, {.help = "the grid"});
    visit("runs", self.runs, {.help = "ids at the chosen rate, by seed"});
    visit("bits_per_byte", self.bits_per_byte, {.help = "mean over the completed runs"});
    visit("epochs", self.epochs, {.help = "passes over the training split"});
  }
};

/// One size, base against variant, at the same tokens and seeds.
struct PairedDifference {
  std::string rung;
  std::string curve;
  std::string base_rung;
  int64_t pairs = 0;
  /// Variant minus base, mean over the seeds both completed; negative: the variant is better.
  double difference = 0;
  /// difference / base.
  double relative = 0;
  /// Sample standard deviation of the difference over seeds; null: one pair.
  std::optional<double> standard_deviation;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("rung", self.rung, {.help = "of the variant"});
    visit("curve", self.curve, {.help = "the variant"});
    visit("base_rung", self.base_rung, {.help = "it is paired with"});
    visit("pairs", self.pairs, {.help = "seeds that both completed"});
    visit("difference", self.difference, {.help = "bits per byte, variant minus base"});
    visit("relative", self.relative, {.help = "difference / base"});
    visit("standard_deviation", self.standard_deviation, {.help = "over seeds; null: one pair"});
  }
};

struct LadderRun {
  std::string id;
  /// Name of its rung.
  std::string rung;
  /// With rate and seed.
  study::RunConfig config;
  double flops_exact = 0;
};

struct LadderState {
  /// In the order of the plan.
  std::vector<RungOutcome> rungs;
  /// What can run or has run, biggest first.
  std::vector<LadderRun> runs;

  /// Every rung is done or failed.
  bool complete() const;
};

using RecordOf = std::function<std::optional<study::RunRecord>(const std::string& run)>;

/// Errors: Error naming run and fingerprints if a record read another manifest than the plan's, or
/// than the other records if the plan has none.
LadderState ladder_state(const LadderPlan& plan, const RecordOf& record_of);

/// How far a ladder is. Runs that extend a grid are counted once they are known.
struct LadderCount {
  int64_t ended = 0;
  int64_t all = 0;
  /// Exact, of training.
  double flops_ended = 0;
  double flops_all = 0;
};
LadderCount count_runs(const LadderPlan& plan, const LadderState& state, const RecordOf& record_of);

/// Errors: Error naming both if the record read another manifest than `data_fingerprint`.
void require_manifest(const std::string& data_fingerprint, const study::RunRecord& record);

/// Of the finished runs of a journal, which must outlive it.
RecordOf records_in(const study::Journal& journal);

/// "ladder-w24-s1", or "ladder-w24-lr0.01-s1" of a rate that is tried or extrapolated.
std::string ladder_run_id(const std::string& rung, int64_t seed,
                          const std::optional<double>& rate = std::nullopt);

/// One for each rung of a variant with a seed that it and its base's rung completed.
std::vector<PairedDifference> paired_differences(const LadderState& state,
                                                 const RecordOf& record_of);

/// For people: what each rung became, then the pairs.
std::string outcome_table(const std::vector<RungOutcome>& rungs,
                          const std::vector<PairedDifference>& pairs);

}  // namespace windtunnel::scaling

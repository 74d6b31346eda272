#pragma once
// The journal of a study: SQLite, the single truth. Intent is written before action and the
// terminal state exactly once, so a kill at any instant loses at most the runs in flight.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/experiment.h"
#include "study/run_record.h"

namespace windtunnel::study {

/// The other arm of an experiment that brings its own; such runs carry the experiment's number.
inline constexpr const char* kReferencePurpose = "reference";

/// A run as the journal knows it.
struct JournalRun {
  /// "e003-s2", "baseline-s1", "ladder-4": its name in the study, and its folder under runs/.
  std::string id;
  std::string purpose;
  /// The experiment it belongs to; 0 for baselines, nullopt for ladders and single runs.
  std::optional<int64_t> experiment;
  int64_t seed = 0;
  /// "intended" until it has a record, then "finished".
  std::string state;
  /// How often it was started; above 1 after interruptions.
  int64_t attempts = 0;
  std::optional<RunRecord> record;

  bool is_reference() const { return purpose == kReferencePurpose; }
};

/// How often the rule by which candidates are given up early was wrong.
struct AbortAudit {
  /// Experiments that it gave up, and those that it would have but for the audit.
  int64_t aborted = 0;
  int64_t audited = 0;
  /// Of the audited ones, those that were kept and are still believed.
  int64_t audited_and_kept = 0;
  /// audited_and_kept over audited; null while none was.
  std::optional<double> false_abort_rate() const {
    if (audited == 0) return std::nullopt;
    return static_cast<double>(audited_and_kept) / static_cast<double>(audited);
  }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("aborted", self.aborted, {.help = "experiments that were given up"});
    visit("audited", self.audited,
          {.help = "experiments that ran on although the rule had spoken"});
    visit("audited_and_kept", self.audited_and_kept,
          {.help = "of those, the ones that were kept and are still believed"});
  }
};

struct LlmCall {
  std::string purpose;
  std::string model;
  /// "ok", "repaired", or the class of the failure.
  std::string outcome;
  std::string message;
  std::optional<int64_t> prompt_tokens;
  std::optional<int64_t> completion_tokens;
  double seconds = 0;
  base::Json request;
  base::Json reply;
  /// What it cost, or could have cost where the server did not say; null without prices.
  std::optional<double> dollars;
};

/// The experiments of one kind, proposer, family and verdict, counted and their predictions scored.
/// Sums are over those that have the figure.
struct ScoredGroup {
  std::string kind, proposer, family;
  /// "" for undecided ones.
  std::string verdict;
  int64_t experiments = 0;
  int64_t doubted = 0;
  /// Measured differences, and those of them that the predicted interval held.
  int64_t measured = 0;
  int64_t covered = 0;
  /// Of predicted - measured bits per byte, and of its size.
  double error = 0, absolute_error = 0;
  /// Stated probabilities of being kept, their sum and the sum of their squares.
  int64_t probabilities = 0;
  double probability = 0, squared_probability = 0;
  /// Predicted and measured changes of tokens per second, and the sum of the sizes of their
  /// differences.
  int64_t throughputs = 0;
  double throughput_error = 0;
};

/// One step of an experiment's state machine.
struct Transition {
  int64_t experiment = 0;
  std::string state;
  /// What the step found, for people; "" where the state says it all.
  std::string detail;
  std::string time;
};

/// Something limited that was set aside before it was used.
struct Reservation {
  int64_t id = 0;
  /// 0: the baseline, or no experiment's.
  int64_t experiment = 0;
  /// "device_seconds", "runs", "dollars".
  std::string resource;
  double amount = 0;
  /// What was used; null while it is not known.
  std::optional<double> settled;
};

/// Kind of the event that says that the locked split of the corpus was scored.
inline constexpr const char* kLockedAccessEvent = "locked_access";

/// Secrets (base/secrets.h) never reach the file: texts and JSON go through redact().
class Journal {
 public:
  /// Opens or makes the journal. `read_only` never writes and does not make one.
  /// Errors: Error naming the file if it is absent (read_only), damaged, or of another format
  /// version.
  explicit Journal(const std::filesystem::path& file, bool read_only = false);
  ~Journal();
  Journal(Journal&&) noexcept;

  /// Facts of the study, a JSON value under a name: "program", "corpus", "noise", "ladder.plan",
  /// "fit" ...
  void set_fact(const std::string& name, const base::Json& value);
  std::optional<base::Json> fact(const std::string& name) const;

  /// Everything that `changes` writes becomes durable at once, or nothing of it.
  void together(const std::function<void()>& changes);

  /// Writes an experiment with its prediction before anything runs; returns its number, from 1.
  /// Its thread is its own number if it is 0.
  int64_t add_experiment(const Experiment& experiment);
  /// The next state of an undecided experiment. Errors: Error if it is decided or does not exist.
  void advance(int64_t experiment, const std::string& state, const std::string& detail = "");
  /// The terminal state. Errors: Error if the experiment is decided already or does not exist.
  void decide(int64_t experiment, const Decision& decision);
  /// The proposer's word about a decided experiment; the first one stays.
  void reflect(int64_t experiment, const Reflection& reflection);
  /// Marks a decided experiment as no longer believed; the first reason stays.
  void doubt(int64_t experiment, const std::string& reason);

  /// Those from a number on.
  std::vector<Experiment> experiments(int64_t from = 1) const;
  std::optional<Experiment> experiment(int64_t number) const;
  int64_t experiment_count() const;
  /// Kept ones by number, doubted ones too.
  std::vector<Experiment> kept_experiments() const;
  /// All of them in groups. Cost: one pass over slim rows.
  std::vector<ScoredGroup> scored_groups() const;
  AbortAudit abort_audit() const;
  std::vector<Transition> transitions(int64_t experiment) const;

  /// Sets `amount` of a resource aside; returns the reservation's id.
  int64_t reserve(int64_t experiment, const std::string& resource, double amount);
  /// Errors: Error if it is settled already or does not exist.
  void settle(int64_t reservation, double used);
  std::vector<Reservation> open_reservations() const;
  /// Settled amounts, and open ones in full.
  double spent(const std::string& resource) const;

  /// Writes the intent to run, or counts one more attempt if the run is known and unfinished.
  /// Errors: Error if it is finished already.
  void intend_run(const std::string& id, const std::string& purpose,
                  std::optional<int64_t> experiment, int64_t seed);
  /// The terminal state. Errors: Error if the run is finished already or was never intended.
  void finish_run(const RunRecord& record);
  /// In the order of their first intent, without the first `skip` of them.
  std::vector<JournalRun> runs(int64_t skip = 0) const;
  std::optional<JournalRun> run(const std::string& id) const;
  /// Those without a record.
  std::vector<JournalRun> unfinished_runs() const;
  /// Those of one experiment; 0: the baseline.
  std::vector<JournalRun> runs_of(int64_t experiment) const;
  /// Runs of experiments and baselines that have a record, those of them that completed, and what
  /// they took.
  struct RunCounts {
    int64_t finished = 0;
    int64_t completed = 0;
    double wall_seconds = 0;
  };
  RunCounts run_counts() const;
  /// Mean over the completed runs of an experiment (0: the baseline); null if it has none.
  std::optional<double> mean_bits_per_byte(int64_t experiment) const;

  void add_llm_call(const LlmCall& call);
  std::vector<LlmCall> llm_calls() const;

  /// Free-form lines with a time: started, interrupted, vetoed, fell back to rules ...
  void add_event(const std::string& kind, const std::string& text);
  struct Event {
    std::string time;
    std::string kind;
    std::string text;
  };
  std::vector<Event> events() const;

 private:
  void add_transition(int64_t experiment, const std::string& state, const std::string& detail);
  static void require_undecided(int64_t experiment, int changed);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace windtunnel::study

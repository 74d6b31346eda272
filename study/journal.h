#pragma once
// The journal of a study: SQLite, the single truth. Intent is written before action and the
// terminal state exactly once, so a kill at any instant loses at most the runs in flight.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/experiment.h"
#include "study/run_record.h"

namespace windtunnel::study {

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

  /// Writes an experiment with its prediction before anything runs; returns its number, from 1.
  int64_t add_experiment(const Experiment& experiment);
  /// The terminal state. Errors: Error if the experiment is decided already or does not exist.
  void decide(int64_t experiment, const Decision& decision);
  std::vector<Experiment> experiments() const;

  /// Writes the intent to run, or counts one more attempt if the run is known and unfinished.
  /// Errors: Error if it is finished already.
  void intend_run(const std::string& id, const std::string& purpose,
                  std::optional<int64_t> experiment, int64_t seed);
  /// The terminal state. Errors: Error if the run is finished already or was never intended.
  void finish_run(const RunRecord& record);
  std::vector<JournalRun> runs() const;
  std::optional<JournalRun> run(const std::string& id) const;

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
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace windtunnel::study

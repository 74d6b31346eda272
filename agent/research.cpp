#include "agent/research.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent/decision.h"
#include "agent/noise.h"
#include "agent/proposer.h"
#include "agent/research_space.h"
#include "agent/summary.h"
#include "agent/veto.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "study/run_missing.h"

namespace windtunnel::agent {

namespace {

using base::Json;
using study::Experiment;
using study::JournalRun;
using study::RunRecord;

constexpr int64_t kLeastBaselineRuns = 2;
// After so many refused proposals in a row there is nothing legal left to expect.
constexpr int64_t kMostVetoesInARow = 25;

std::string run_id(int64_t experiment, int64_t seed) {
  return experiment == 0 ? fmt::format("baseline-s{}", seed)
                         : fmt::format("e{:03}-s{}", experiment, seed);
}

study::PlannedRun planned_run(int64_t experiment, study::RunConfig config, int64_t seed) {
  config.train.seed = seed;
  return {.request = {.id = run_id(experiment, seed),
                      .purpose = experiment == 0 ? "baseline" : "candidate",
                      .config = std::move(config),
                      .resume = true},
          .experiment = experiment};
}

Json without_seed(const study::RunConfig& config) {
  Json document = base::to_json(config);
  document["train"].erase("seed");
  return document;
}

std::string how_it_ended(const RunRecord& record) {
  return "run " + record.id + " ended as " + record.train.outcome +
         (record.train.message.empty() ? "" : ": " + record.train.message);
}

bool is_decided(const Experiment& experiment) {
  return experiment.decision && experiment.decision->verdict != study::verdict::kVetoed;
}

class Night {
 public:
  Night(const Program& program, study::Journal& journal, study::Runner& runner,
        const std::filesystem::path& study, NightView& view)
      : program_(program),
        journal_(journal),
        runner_(runner),
        study_(study),
        view_(view),
        lineup_(program, night_services()) {}

  std::string run() {
    adopt_baseline();
    if (const auto reason = ended_before()) return *reason;
    measure_baseline();
    while (true) {
      base::stop_if_interrupted();
      read_journal();
      record_noise();
      if (!experiments_.empty() && !experiments_.back().decision) {
        settle(experiments_.back());
      } else if (const auto reason = stop_reason_now()) {
        return stop(*reason);
      } else if (measure_incumbent()) {
        continue;
      } else if (!propose()) {
        return stop(stop_reason::kNoProposals);
      }
    }
  }

 private:
  /// The journal's, and the wait for a language model on the view.
  ProposerServices night_services() {
    ProposerServices services = journal_services(journal_);
    services.chat.on_wait = [this](const Waiting& waiting) {
      show({.phase = "proposing",
            .experiment = static_cast<int64_t>(experiments_.size()) + 1,
            .waiting = fmt::format("{}, {} of at most {}", waiting.what,
                                   base::format_duration(waiting.seconds_so_far),
                                   base::format_duration(waiting.limit_seconds))});
    };
    return services;
  }

  // --- Where the night stands -------------------------------------------------------------------

  void read_journal() {
    experiments_ = journal_.experiments();
    runs_ = journal_.runs();
    incumbent_ = incumbent_of(experiments_);
    incumbent_config_ = incumbent_ == 0 ? baseline_config_ : config_of(incumbent_);
  }

  Json config_of(int64_t experiment) const {
    return experiments_.at(static_cast<size_t>(experiment) - 1).config;
  }

  /// The runs of all configurations but one.
  std::vector<RunRecord> records_without(std::optional<int64_t> experiment) const {
    std::vector<RunRecord> records;
    for (const JournalRun& run : runs_) {
      if (run.experiment && run.experiment != experiment && run.record) {
        records.push_back(*run.record);
      }
    }
    return records;
  }

  const JournalRun* find_run(const std::string& id) const {
    const auto place = std::find_if(runs_.begin(), runs_.end(),
                                    [&](const JournalRun& run) { return run.id == id; });
    return place == runs_.end() ? nullptr : &*place;
  }

  const RunRecord& first_baseline() const {
    for (const JournalRun& run : runs_) {
      if (run.experiment == 0 && run.record && run.record->completed()) return *run.record;
    }
    throw std::logic_error("internal error: a night without a baseline");
  }

  Noise noise_without(std::optional<int64_t> experiment) const {
    return measure_noise(records_without(experiment), first_baseline().comparability_key);
  }

  void record_noise() {
    const Json noise = base::to_json(noise_without(std::nullopt));
    if (journal_.fact(fact::kNoise) != noise) journal_.set_fact(fact::kNoise, noise);
  }

  int64_t decided() const {
    return std::count_if(experiments_.begin(), experiments_.end(), is_decided);
  }

  /// Device time of the night over the slots: what the wall clock would show without pauses.
  double seconds_spent() const {
    double seconds = 0;
    for (const JournalRun& run : runs_) {
      if (run.experiment && run.record) seconds += run.record->wall_seconds;
    }
    return seconds / static_cast<double>(std::max(1, runner_.slots()));
  }

  // --- Stopping ---------------------------------------------------------------------------------

  std::optional<std::string> ended_before() const {
    const auto fact = journal_.fact(fact::kStop);
    if (!fact || fact->at("night") != base::to_json(program_.night)) return std::nullopt;
    return fact->at("reason").get<std::string>();
  }

  /// Experiments at the end of the history for which `counts` holds; those that `skip` are passed
  /// over.
  template <class Counts, class Skip>
  int64_t trailing(const Counts& counts, const Skip& skip) const {
    int64_t count = 0;
    for (auto place = experiments_.rbegin(); place != experiments_.rend(); ++place) {
      if (skip(*place)) continue;
      if (!counts(*place)) break;
      ++count;
    }
    return count;
  }

  std::optional<std::string> stop_reason_now() const {
    const NightConfig& night = program_.night;
    if (decided() >= night.experiments) return stop_reason::kExperimentsDone;
    if (night.max_seconds > 0 && seconds_spent() >= night.max_seconds) {
      return stop_reason::kTimeSpent;
    }
    const auto vetoed = [](const Experiment& experiment) { return !is_decided(experiment); };
    const auto failed = [](const Experiment& experiment) {
      return experiment.decision->verdict == study::verdict::kFailed;
    };
    if (trailing(failed, vetoed) >= night.max_consecutive_failures) {
      return stop_reason::kConsecutiveFailures;
    }
    const auto none = [](const Experiment&) { return false; };
    if (trailing(vetoed, none) >= kMostVetoesInARow) return stop_reason::kNoProposals;
    const auto not_kept = [](const Experiment& experiment) {
      return experiment.decision->verdict != study::verdict::kKeep;
    };
    if (night.plateau_experiments > 0 && trailing(not_kept, vetoed) >= night.plateau_experiments) {
      return stop_reason::kPlateau;
    }
    return std::nullopt;
  }

  std::string stop(const std::string& reason) {
    const auto kept =
        std::count_if(experiments_.begin(), experiments_.end(), [](const Experiment& experiment) {
          return experiment.decision && experiment.decision->verdict == study::verdict::kKeep;
        });
    const std::string text =
        fmt::format("{}: {} experiments decided, {} kept", reason, decided(), kept);
    journal_.set_fact(
        fact::kStop,
        {{"reason", reason}, {"text", text}, {"night", base::to_json(program_.night)}});
    view_.line("the night ends, " + text);
    return reason;
  }

  // --- Baseline ---------------------------------------------------------------------------------

  void adopt_baseline() {
    const study::RunConfig config =
        study::resolve_run_config(program_.base, "base of program " + program_.name);
    baseline_config_ = without_seed(config);
    const std::string fingerprint = study::config_fingerprint(config);
    const auto known = journal_.fact(fact::kBaseline);
    if (!known) {
      journal_.set_fact(fact::kBaseline,
                        {{"config", baseline_config_}, {"fingerprint", fingerprint}});
    } else if (known->at("fingerprint") != fingerprint) {
      throw base::Error(fmt::format(
          "the base configuration of program {} is not the one that the study {} began with: "
          "nothing could be compared; use a new study folder or --fresh",
          program_.name, study_.string()));
    }
  }

  void measure_baseline() {
    read_journal();
    const study::RunConfig config = runnable(baseline_config_);
    std::vector<study::PlannedRun> plan;
    for (int64_t seed = 1; seed <= program_.baseline_runs(); ++seed) {
      plan.push_back(planned_run(0, config, seed));
    }
    const bool is_new =
        std::any_of(plan.begin(), plan.end(), [&](const study::PlannedRun& planned) {
          const JournalRun* known = find_run(planned.request.id);
          return !known || !known->record;
        });
    const std::vector<RunRecord> records = run_all(plan, "baseline", 0);
    const auto completed = std::count_if(
        records.begin(), records.end(), [](const RunRecord& record) { return record.completed(); });
    if (completed < kLeastBaselineRuns) {
      const auto failed = std::find_if(records.begin(), records.end(),
                                       [](const RunRecord& record) { return !record.completed(); });
      throw base::Error(fmt::format(
          "{} of {} baseline runs completed, at least {} are needed to measure the noise; {}. "
          "Change the program's base and start over with --fresh",
          completed, records.size(), kLeastBaselineRuns, how_it_ended(*failed)));
    }
    if (!is_new) return;
    read_journal();
    const Noise noise = noise_without(std::nullopt);
    view_.line(fmt::format("baseline: {:.4f} bits per byte over {} seeds, sd of one run {:.4f}",
                           *mean_bits_per_byte(runs_, 0), completed, *noise.run_sd));
  }

  // --- The incumbent ----------------------------------------------------------------------------

  /// The first seed that had no part in choosing the incumbent: the runs by which it won are better
  /// than it is.
  int64_t first_seed() const {
    if (incumbent_ == 0) return 1;
    const auto& seeds = experiments_.at(static_cast<size_t>(incumbent_) - 1).decision->seeds;
    if (seeds.empty()) {
      throw base::Error(
          fmt::format("the journal of {} does not say which seeds chose experiment {}: it was made "
                      "by an earlier "
                      "version; finish it there, or start over with --fresh",
                      study_.string(), incumbent_));
    }
    return *std::max_element(seeds.begin(), seeds.end()) + 1;
  }

  bool is_measured_seed(int64_t seed) const {
    return seed >= first_seed() && seed < first_seed() + program_.decision.incumbent_runs;
  }

  /// Measures a new incumbent on seeds of its own; false if that is done.
  bool measure_incumbent() {
    if (incumbent_ == 0) return false;
    const study::RunConfig config = runnable(incumbent_config_);
    std::vector<study::PlannedRun> plan;
    for (int64_t seed = first_seed(); is_measured_seed(seed); ++seed) {
      const JournalRun* known = find_run(run_id(incumbent_, seed));
      if (!known || !known->record) plan.push_back(planned_run(incumbent_, config, seed));
    }
    if (plan.empty()) return false;
    run_all(plan, "incumbent", 0);
    return true;
  }

  /// Completed runs of the incumbent on the seeds by which it is measured, but for `seeds`.
  std::vector<RunRecord> measured_incumbents(const std::set<int64_t>& seeds = {}) const {
    std::vector<RunRecord> records;
    for (const JournalRun& run : runs_) {
      if (run.experiment == incumbent_ && run.record && run.record->completed() &&
          is_measured_seed(run.record->seed) && !seeds.contains(run.record->seed)) {
        records.push_back(*run.record);
      }
    }
    return records;
  }

  /// From what was known before the experiment began, so that an interruption changes nothing:
  /// neither the candidate's runs nor those that the incumbent made for it.
  double seed_share_before(int64_t experiment) const {
    std::vector<RunRecord> records;
    for (const JournalRun& run : runs_) {
      if (!run.experiment || run.experiment == experiment || !run.record) continue;
      if (run.experiment == incumbent_ && run.record->seed >= first_seed() &&
          !is_measured_seed(run.record->seed)) {
        continue;
      }
      records.push_back(*run.record);
    }
    return measure_noise(records, first_baseline().comparability_key).seed_share();
  }

  // --- One experiment ---------------------------------------------------------------------------

  bool propose() {
    show({.phase = "proposing", .experiment = static_cast<int64_t>(experiments_.size()) + 1});
    const Noise noise = noise_without(std::nullopt);
    ProposalContext context{
        .program = program_,
        .incumbent = incumbent_config_,
        .history = experiments_,
        .noise_bits_per_byte = noise.run_sd,
        .incumbent_bits_per_byte = mean_bits_per_byte(runs_, incumbent_),
        .remaining = {.experiments = program_.night.experiments - decided(), .seconds = {}}};
    if (program_.night.max_seconds > 0) {
      context.remaining.seconds = program_.night.max_seconds - seconds_spent();
    }
    std::optional<study::Proposal> proposal = lineup_.propose(context);
    if (!proposal) return false;
    const Candidate candidate = make_candidate(program_, incumbent_config_, proposal->patch);
    Experiment experiment;
    experiment.proposal = std::move(*proposal);
    experiment.config = candidate.resolved;
    experiment.config_fingerprint = candidate.fingerprint;
    experiment.parent = incumbent_;
    journal_.add_experiment(experiment);
    return true;
  }

  void settle(const Experiment& experiment) {
    const Candidate candidate =
        make_candidate(program_, incumbent_config_, experiment.proposal.patch);
    if (const auto refusal = refused(experiment, candidate)) {
      decide(experiment, without_comparison(study::verdict::kVetoed, *refusal));
      return;
    }
    try {
      decide(experiment, compare(experiment, *candidate.config));
    } catch (const NotComparable& error) {
      decide(experiment, without_comparison(study::verdict::kFailed, error.what()));
    }
  }

  std::optional<std::string> refused(const Experiment& experiment,
                                     const Candidate& candidate) const {
    const std::vector<Experiment> history(experiments_.begin(), experiments_.end() - 1);
    const std::vector<Refusal> found = refusals(BeforeRun{.program = program_,
                                                          .incumbent = incumbent_config_,
                                                          .history = history,
                                                          .patch = experiment.proposal.patch,
                                                          .candidate = candidate});
    if (!found.empty()) return text(found);
    if (!candidate.config) return candidate.problem;
    const RunRecord& baseline = first_baseline();
    if (study::comparability_key(*candidate.config, baseline.data_fingerprint) !=
        baseline.comparability_key) {
      return "it changes data, budget, device, precision or threads: its runs could not be "
             "compared "
             "with the incumbent's";
    }
    return std::nullopt;
  }

  /// Runs pairs up to each look of the sequential test until one decides.
  study::Decision compare(const Experiment& experiment, const study::RunConfig& config) {
    const std::vector<Experiment> history(experiments_.begin(), experiments_.end() - 1);
    const SequentialTest test =
        plan_test(program_.decision, program_.slots,
                  next_share(history, program_.decision, program_.night.experiments),
                  seed_share_before(experiment.number), std::ssize(measured_incumbents()));
    // Looks that were passed before an interruption stay passed: the candidate's next run is always
    // the first thing that is journalled after an undecided look.
    const int64_t known = std::count_if(runs_.begin(), runs_.end(), [&](const JournalRun& run) {
      return run.experiment == experiment.number;
    });
    for (const int64_t look : test.looks) {
      if (look < known && look != test.looks.back()) continue;
      const PairedRuns paired = run_pairs(experiment.number, config, look);
      if (!paired.problem.empty()) {
        return without_comparison(study::verdict::kFailed, paired.problem);
      }
      std::set<int64_t> seeds;
      for (const Pair& pair : paired.pairs) seeds.insert(pair.incumbent.seed);
      const auto decision =
          judge({paired.pairs, measured_incumbents(seeds)}, noise_without(experiment.number), test,
                experiment.proposal.prediction);
      if (decision) return diagnosed(*decision, paired.pairs, config);
    }
    throw std::logic_error("internal error: the last look did not decide");
  }

  struct PairedRuns {
    std::vector<Pair> pairs;
    /// Why there is no comparison; empty if there is one.
    std::string problem;
  };

  /// Candidate and incumbent on the first `count` seeds on which the incumbent completes.
  PairedRuns run_pairs(int64_t experiment, const study::RunConfig& config, int64_t count) {
    const study::RunConfig incumbent_config = runnable(incumbent_config_);
    while (true) {
      std::vector<int64_t> seeds;
      for (int64_t seed = first_seed(); std::ssize(seeds) < count; ++seed) {
        const JournalRun* known = find_run(run_id(incumbent_, seed));
        if (!known || !known->record || known->record->completed()) seeds.push_back(seed);
        if (seed - first_seed() > 2 * program_.decision.max_pairs + program_.baseline_runs()) {
          return {.pairs = {},
                  .problem = "too few runs of the incumbent completed to compare with; " +
                             how_it_ended(*find_run(run_id(incumbent_, seed))->record)};
        }
      }
      std::vector<study::PlannedRun> plan;
      for (const int64_t seed : seeds) plan.push_back(planned_run(experiment, config, seed));
      for (const int64_t seed : seeds) {
        plan.push_back(planned_run(incumbent_, incumbent_config, seed));
      }
      const std::vector<RunRecord> records = run_all(plan, "experiment", experiment);
      read_runs();

      PairedRuns paired;
      bool every_incumbent_completed = true;
      for (size_t index = 0; index < seeds.size(); ++index) {
        const RunRecord& candidate = records[index];
        const RunRecord& incumbent = records[seeds.size() + index];
        if (!candidate.completed()) return {.pairs = {}, .problem = how_it_ended(candidate)};
        every_incumbent_completed = every_incumbent_completed && incumbent.completed();
        paired.pairs.push_back({.candidate = candidate, .incumbent = incumbent});
      }
      if (every_incumbent_completed) return paired;
    }
  }

  /// A better candidate that a veto refuses after its runs is to be repaired, not kept.
  study::Decision diagnosed(study::Decision decision, const std::vector<Pair>& pairs,
                            const study::RunConfig& config) const {
    if (decision.verdict != study::verdict::kKeep) return decision;
    for (const Pair& pair : pairs) {
      const std::vector<Refusal> found = refusals(AfterRun{
          .program = program_, .config = config, .evaluation = *pair.candidate.evaluation});
      if (found.empty()) continue;
      decision.verdict = study::verdict::kRepair;
      decision.reason += "; but " + pair.candidate.id + ": " + text(found);
      break;
    }
    return decision;
  }

  void decide(const Experiment& experiment, const study::Decision& decision) {
    journal_.decide(experiment.number, decision);
    const study::Prediction& predicted = experiment.proposal.prediction;
    std::string outcome = decision.reason;
    if (decision.delta_bits_per_byte) {
      outcome = fmt::format(
          "{:+.4f} bits per byte [{:+.4f}, {:+.4f}], predicted {:+.4f} [{:+.4f}, {:+.4f}]",
          *decision.delta_bits_per_byte, *decision.interval_low, *decision.interval_high,
          predicted.delta_bits_per_byte, predicted.interval_low, predicted.interval_high);
    }
    view_.line(fmt::format("experiment {} {}: {} | {}", experiment.number, decision.verdict,
                           outcome, base::shorten(experiment.proposal.hypothesis, 100)));
  }

  // --- Runs -------------------------------------------------------------------------------------

  static study::RunConfig runnable(const Json& config) {
    return base::from_trusted_json<study::RunConfig>(config);
  }

  void read_runs() { runs_ = journal_.runs(); }

  std::vector<RunRecord> run_all(const std::vector<study::PlannedRun>& plan, const char* phase,
                                 int64_t experiment) {
    NightProgress progress{.phase = phase, .experiment = experiment};
    const RunForecast forecast = forecast_of(plan, experiment);
    std::set<std::string> started;
    return study::run_missing(plan, journal_, runner_, study_, [&](const study::Runner& runner) {
      progress.runs = runner.progress();
      double in_flight = 0;
      for (const study::RunProgress& run : progress.runs) {
        started.insert(run.id);
        in_flight += run.latest.progress;
      }
      // A run that was in flight and is no more has ended.
      const double ended =
          static_cast<double>(started.size()) - static_cast<double>(progress.runs.size());
      const double done = forecast.done + ended + in_flight;
      const double left = std::max(0.0, forecast.left - ended - in_flight);
      progress.fraction = done / std::max(1.0, done + left);
      if (forecast.seconds_per_run) progress.seconds_left = left * *forecast.seconds_per_run;
      show(progress);
    });
  }

  struct RunForecast {
    double done = 0;
    double left = 0;
    /// Of the wall clock, all slots busy; null before the first run has ended.
    std::optional<double> seconds_per_run;
  };

  /// How many runs the night still needs if experiments go on to take as many as they did so far.
  RunForecast forecast_of(const std::vector<study::PlannedRun>& plan, int64_t experiment) const {
    RunForecast forecast;
    double candidate_runs = 0;
    for (const JournalRun& run : runs_) {
      if (!run.experiment || !run.record) continue;
      forecast.done += 1;
      if (run.experiment != 0 && run.experiment != experiment) candidate_runs += 1;
    }
    if (forecast.done > 0) forecast.seconds_per_run = seconds_spent() / forecast.done;
    for (const study::PlannedRun& planned : plan) {
      const JournalRun* known = find_run(planned.request.id);
      if (!known || !known->record) forecast.left += 1;
    }
    const auto settled = static_cast<double>(decided());
    const double later =
        static_cast<double>(program_.night.experiments) - settled - (experiment > 0 ? 1.0 : 0.0);
    const double runs_each =
        settled > 0 ? candidate_runs / settled : static_cast<double>(program_.decision.min_pairs);
    forecast.left += std::max(0.0, later) * runs_each;
    return forecast;
  }

  void show(NightProgress progress) const {
    progress.decided = decided();
    progress.planned = program_.night.experiments;
    view_.update(progress);
  }

  const Program& program_;
  study::Journal& journal_;
  study::Runner& runner_;
  const std::filesystem::path study_;
  NightView& view_;
  ProposerLineup lineup_;

  Json baseline_config_;
  // What read_journal() found.
  std::vector<Experiment> experiments_;
  std::vector<JournalRun> runs_;
  int64_t incumbent_ = 0;
  Json incumbent_config_;
};

}  // namespace

std::string run_night(const Program& program, study::Journal& journal, study::Runner& runner,
                      const std::filesystem::path& study, NightView& view) {
  return Night(program, journal, runner, study, view).run();
}

}  // namespace windtunnel::agent

#include "agent/research.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/budget.h"
#include "agent/confirmation.h"
#include "agent/decision.h"
#include "agent/experiment_machine.h"
#include "agent/follow_up.h"
#include "agent/night_forecast.h"
#include "agent/night_state.h"
#include "agent/research_space.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "study/run_missing.h"

namespace windtunnel::agent {

namespace {

using base::Json;
using study::Experiment;
using study::JournalRun;

constexpr int64_t kLeastBaselineRuns = 2;
// After so many refused proposals in a row there is nothing legal left to expect.
constexpr int64_t kMostVetoesInARow = 25;
// Work that a kill may leave uncounted.
constexpr double kHoursEverySeconds = 30;

Json without_seed(const study::RunConfig& config) {
  Json document = base::to_json(config);
  document["train"].erase("seed");
  return document;
}

bool is_vetoed(const Experiment& experiment) {
  return experiment.decision->verdict == study::verdict::kVetoed;
}

/// Adopts the program's base as the study's baseline, or checks that it is the same.
Json adopt_baseline(const Program& program, study::Journal& journal,
                    const std::filesystem::path& study) {
  const study::RunConfig config =
      study::resolve_run_config(program.base, "base of program " + program.name);
  const std::string fingerprint = study::config_fingerprint(config);
  const auto known = journal.fact(fact::kBaseline);
  if (!known) {
    journal.set_fact(fact::kBaseline,
                     {{"config", without_seed(config)}, {"fingerprint", fingerprint}});
  } else if (known->at("fingerprint") != fingerprint) {
    throw base::Error(fmt::format(
        "the base configuration of program {} is not the one that the study {} began with: nothing "
        "could be compared; use a new study folder or --fresh",
        program.name, study.string()));
  }
  return without_seed(config);
}

class Night {
 public:
  Night(const Program& program, study::Journal& journal, study::Runner& runner,
        const std::filesystem::path& study, NightView& view, const ProposalSource& proposals)
      : program_(program),
        journal_(journal),
        runner_(runner),
        view_(view),
        state_(program, journal, adopt_baseline(program, journal, study)),
        budget_(program.budget, journal),
        lineup_(program, services()),
        proposals_(proposals ? proposals
                             : [this](const ProposalContext& now) { return lineup_.propose(now); }),
        shop_{.program = program,
              .journal = journal,
              .state = state_,
              .budget = budget_,
              .study = study,
              .run = [this](const auto& plan, int64_t experiment,
                            const auto& on_tick) { run_all(plan, experiment, on_tick); },
              .seconds_per_run =
                  [this](const study::RunConfig& config) {
                    return expected_seconds(state_, config);
                  }},
        last_count_(base::monotonic_seconds()) {}

  std::string run() {
    const Json program = base::to_json(program_);
    if (journal_.fact(fact::kProgram) != program) journal_.set_fact(fact::kProgram, program);
    if (const auto reason = ended_before()) return *reason;
    measure_baseline();
    while (true) {
      base::stop_if_interrupted();
      count_hours();
      state_.sync();
      record_noise();
      if (work_on_experiment() || measure_incumbent() || doubt_incumbent() || follow_up()) continue;
      if (const auto reason = stop_reason_now()) return stop(*reason);
      if (!propose()) return stop(out_of_proposals());
    }
  }

 private:
  // --- One thing at a time: true if there was something to do -----------------------------------

  bool work_on_experiment() {
    const auto& experiments = state_.experiments();
    if (experiments.empty() || experiments.back().decision) return false;
    const int64_t number = experiments.back().number;
    phase_ = experiments.back().proposal.kind;
    if (study::may_be_kept(phase_)) phase_ = "experiment";
    ExperimentMachine(shop_).step(experiments.back());
    state_.sync();
    if (const auto& experiment = state_.experiment(number); experiment.decision) tell(experiment);
    return true;
  }

  /// Measures a new incumbent on seeds of its own, and its parent beside it.
  bool measure_incumbent() {
    const int64_t incumbent = state_.incumbent();
    if (incumbent == 0) return false;
    std::vector<study::PlannedRun> plan;
    for (const auto& [own, reference] : confirmation_of(incumbent, state_)) {
      plan.push_back(own);
      plan.push_back(reference);
    }
    if (state_.missing(plan) == 0) {
      budget_.settle_runs(incumbent);  // if it was killed just before
      return false;
    }
    phase_ = "incumbent";
    return run_within_budget(incumbent, plan);
  }

  /// A kept change that its own runs do not confirm is not believed.
  bool doubt_incumbent() {
    const int64_t incumbent = state_.incumbent();
    // Once: later, the noise is known better, and the same runs might say something else.
    if (incumbent == 0 || incumbent != std::ssize(state_.experiments())) return false;
    const auto problem = unconfirmed(incumbent, state_, program_.decision.confirmation);
    if (!problem) return false;
    doubt(journal_, incumbent, *problem);
    state_.sync();
    const std::string text = fmt::format("experiment {} is no longer believed: {}", incumbent,
                                         state_.experiment(incumbent).doubt);
    journal_.add_event("doubt", text);
    view_.line(text);
    return true;
  }

  bool follow_up() {
    const auto experiment = next_follow_up(state_, program_);
    if (!experiment) return false;
    journal_.add_experiment(*experiment);
    return true;
  }

  bool propose() {
    phase_ = "proposing";
    proposing_ = {.phase = phase_, .experiment = std::ssize(state_.experiments()) + 1};
    RunsForecast(program_, state_, {}, 0, runner_.slots()).update({}, proposing_);
    show(proposing_);
    const int64_t incumbent = state_.incumbent();
    const ProposalContext context{
        .program = program_,
        .incumbent = state_.config_of(incumbent),
        .history = state_.experiments(),
        .noise_bits_per_byte = state_.noise().run_sd,
        .incumbent_bits_per_byte = journal_.mean_bits_per_byte(incumbent),
        .remaining = budget_.remaining(program_.night.experiments - state_.decided()),
        .calibration = study::calibrate(journal_.scored_groups())};
    std::optional<study::Proposal> proposal = proposals_(context);
    count_hours();
    if (!proposal) return false;
    const Candidate candidate = make_candidate(program_, context.incumbent, proposal->patch);
    Experiment experiment;
    experiment.proposal = std::move(*proposal);
    experiment.config = candidate.resolved;
    experiment.config_fingerprint = candidate.fingerprint;
    experiment.parent = incumbent;
    journal_.add_experiment(experiment);
    return true;
  }

  // --- Stopping ---------------------------------------------------------------------------------

  std::optional<std::string> ended_before() const {
    const auto fact = journal_.fact(fact::kStop);
    if (!fact || fact->at("night") != limits()) return std::nullopt;
    return fact->at("reason").get<std::string>();
  }

  /// What a finished night would go on under if it changed.
  Json limits() const {
    return {{"night", base::to_json(program_.night)}, {"budget", base::to_json(program_.budget)}};
  }

  /// Ideas at the end of the history for which `counts` holds; those that `skip` are passed over.
  template <class Counts, class Skip>
  int64_t trailing(const Counts& counts, const Skip& skip) const {
    int64_t count = 0;
    const auto& experiments = state_.experiments();
    for (auto place = experiments.rbegin(); place != experiments.rend(); ++place) {
      if (!study::may_be_kept(place->proposal.kind) || skip(*place)) continue;
      if (!counts(*place)) break;
      ++count;
    }
    return count;
  }

  std::optional<std::string> stop_reason_now() const {
    const NightConfig& night = program_.night;
    if (state_.decided() >= night.experiments) return stop_reason::kExperimentsDone;
    const study::RunConfig baseline = runnable(state_.config_of(0));
    if (auto spent =
            budget_.exhausted(program_.decision.min_pairs, expected_seconds(state_, baseline))) {
      return spent;
    }
    const auto failed = [](const Experiment& experiment) {
      return experiment.decision->verdict == study::verdict::kFailed;
    };
    if (trailing(failed, is_vetoed) >= night.max_consecutive_failures) {
      return stop_reason::kConsecutiveFailures;
    }
    const auto none = [](const Experiment&) { return false; };
    if (trailing(is_vetoed, none) >= kMostVetoesInARow) return stop_reason::kNoProposals;
    const auto not_kept = [](const Experiment& experiment) { return !experiment.is_kept(); };
    if (night.plateau_experiments > 0 &&
        trailing(not_kept, is_vetoed) >= night.plateau_experiments) {
      return stop_reason::kPlateau;
    }
    return std::nullopt;
  }

  std::string out_of_proposals() const {
    return budget_.is_out_of_dollars() ? stop_reason::kDollarsSpent : stop_reason::kNoProposals;
  }

  std::string stop(const std::string& reason) {
    const auto& experiments = state_.experiments();
    const auto kept =
        std::count_if(experiments.begin(), experiments.end(),
                      [](const Experiment& experiment) { return experiment.is_kept(); });
    const std::string text =
        fmt::format("{}: {} experiments decided, {} kept", reason, state_.decided(), kept);
    journal_.set_fact(fact::kStop, {{"reason", reason}, {"text", text}, {"night", limits()}});
    view_.line("the night ends, " + text);
    return reason;
  }

  // --- Baseline ---------------------------------------------------------------------------------

  void measure_baseline() {
    const study::RunConfig config = runnable(state_.config_of(0));
    std::vector<study::PlannedRun> plan;
    for (int64_t seed = 1; seed <= program_.baseline_runs(); ++seed) {
      plan.push_back(planned_run(0, config, seed));
    }
    const bool is_new = state_.missing(plan) > 0;
    phase_ = "baseline";
    if (!is_new) {
      budget_.settle_runs(0);  // if it was killed just before
    } else if (!run_within_budget(0, plan)) {
      throw base::Error(
          fmt::format("the budget of program {} does not reach for its {} baseline runs: {}",
                      program_.name, plan.size(), lacking_));
    }
    const std::vector<const JournalRun*> runs = state_.runs_of(0);
    const auto is_complete = [](const JournalRun* run) {
      return run->record && run->record->completed();
    };
    const auto completed = std::count_if(runs.begin(), runs.end(), is_complete);
    if (completed < kLeastBaselineRuns) {
      const auto failed = std::find_if_not(runs.begin(), runs.end(), is_complete);
      throw base::Error(fmt::format(
          "{} of {} baseline runs completed, at least {} are needed to measure the noise; {}. "
          "Change the program's base and start over with --fresh",
          completed, runs.size(), kLeastBaselineRuns, how_it_ended(*(*failed)->record)));
    }
    require_key();
    require_code();
    if (!is_new) return;
    view_.line(fmt::format("baseline: {:.4f} bits per byte over {} seeds, sd of one run {:.4f}",
                           *journal_.mean_bits_per_byte(0), completed, *state_.noise().run_sd));
    view_.line("plan: " + plan_text(program_, state_));
  }

  void require_key() const {
    const std::string& key = state_.first_baseline().comparability_key;
    if (program_.comparability_key.empty() || program_.comparability_key == key) return;
    throw NotComparable(fmt::format(
        "program {} asks for the comparability key {}, its baseline has {}: data, split, "
        "tokenizer, "
        "budget, device, precision, threads or code differ; take the key out of the program to "
        "begin a study of its own",
        program_.name, program_.comparability_key, key));
  }

  /// Runs of another build could not be compared with those that are there.
  void require_code() const {
    const std::string& before = state_.first_baseline().code_version;
    const std::string now = runner_.code_version();
    if (now.empty() || before.empty() || now == before) return;
    throw NotComparable(fmt::format(
        "the study {} began with the trainer {}, this is {}: its runs could not be compared; go on "
        "with that build, or use a new study folder or --fresh",
        shop_.study.string(), before, now));
  }

  // --- Runs -------------------------------------------------------------------------------------

  /// Runs that belong to no state machine; false if the budget does not reach (`lacking_`).
  bool run_within_budget(int64_t owner, const std::vector<study::PlannedRun>& plan) {
    const int64_t missing = state_.missing(plan);
    const double seconds = expected_seconds(state_, plan.front().request.config);
    if (const auto problem = budget_.reserve_runs(owner, missing, seconds)) {
      lacking_ = *problem;
      return false;
    }
    run_all(plan, owner, {});
    budget_.settle_runs(owner);
    return true;
  }

  void run_all(const std::vector<study::PlannedRun>& plan, int64_t experiment,
               const std::function<void(study::Runner&)>& on_tick) {
    RunsForecast forecast(program_, state_, plan, experiment, runner_.slots());
    study::run_missing(plan, journal_, runner_, shop_.study, [&](study::Runner& runner) {
      if (on_tick) on_tick(runner);
      count_hours();
      NightProgress progress{.phase = phase_, .experiment = experiment};
      forecast.update(runner.progress(), progress);
      show(std::move(progress));
    });
    state_.sync();
  }

  // --- Telling ----------------------------------------------------------------------------------

  ProposerServices services() {
    ProposerServices services = journal_services(journal_);
    services.reflect = [this](int64_t experiment, const study::Reflection& word) {
      journal_.reflect(experiment, word);
      state_.reflected(experiment, word);
    };
    services.chat = chat_hooks(budget_);
    services.chat.on_wait = [this](const Waiting& waiting) {
      count_hours();
      proposing_.waiting = fmt::format("{}, {} of at most {}", waiting.what,
                                       base::format_duration(waiting.seconds_so_far),
                                       base::format_duration(waiting.limit_seconds));
      show(proposing_);
    };
    return services;
  }

  void record_noise() {
    const Json noise = base::to_json(state_.noise());
    if (journal_.fact(fact::kNoise) != noise) journal_.set_fact(fact::kNoise, noise);
  }

  void count_hours() {
    const double now = base::monotonic_seconds();
    if (now - last_count_ < kHoursEverySeconds) return;
    budget_.add_hours((now - last_count_) / 3600);
    last_count_ = now;
  }

  void tell(const Experiment& experiment) {
    const study::Decision& decision = *experiment.decision;
    const study::Prediction& predicted = experiment.proposal.prediction;
    std::string outcome = decision.reason;
    if (decision.delta_bits_per_byte && study::may_be_kept(experiment.proposal.kind)) {
      outcome = fmt::format(
          "{:+.4f} bits per byte [{:+.4f}, {:+.4f}], predicted {:+.4f} [{:+.4f}, {:+.4f}]",
          *decision.delta_bits_per_byte, *decision.interval_low, *decision.interval_high,
          predicted.delta_bits_per_byte, predicted.interval_low, predicted.interval_high);
    }
    const std::string what =
        experiment.about == 0
            ? std::string()
            : fmt::format(" ({} of {})", experiment.proposal.kind, experiment.about);
    view_.line(fmt::format("experiment {}{} {}: {} | {}", experiment.number, what, decision.verdict,
                           outcome, base::shorten(experiment.proposal.hypothesis, 100)));
  }

  void show(NightProgress progress) const {
    progress.decided = state_.decided();
    progress.planned = program_.night.experiments;
    view_.update(progress);
  }

  const Program& program_;
  study::Journal& journal_;
  study::Runner& runner_;
  NightView& view_;
  NightState state_;
  Budget budget_;
  ProposerLineup lineup_;
  ProposalSource proposals_;
  Workshop shop_;
  double last_count_;
  std::string phase_;
  /// Shown while a proposal is waited for.
  NightProgress proposing_;
  /// Why the last runs could not be had.
  std::string lacking_;
};

}  // namespace

std::string run_night(const Program& program, study::Journal& journal, study::Runner& runner,
                      const std::filesystem::path& study, NightView& view,
                      const ProposalSource& proposals) {
  return Night(program, journal, runner, study, view, proposals).run();
}

void doubt(study::Journal& journal, int64_t experiment, const std::string& reason) {
  const auto first = journal.experiment(experiment);
  if (!first || !first->decision) {
    throw base::Error(fmt::format("experiment {} {}: only a decided experiment can be doubted",
                                  experiment, first ? "is not decided yet" : "does not exist"));
  }
  journal.together([&] {
    journal.doubt(experiment, reason);
    std::vector<bool> doubted(static_cast<size_t>(experiment) + 1);
    doubted.back() = true;
    for (const Experiment& later : journal.experiments(experiment + 1)) {
      const bool depends = doubted.at(static_cast<size_t>(later.parent)) ||
                           doubted.at(static_cast<size_t>(later.about));
      doubted.push_back(depends);
      if (depends && later.decision) {
        journal.doubt(later.number, fmt::format("it rests on experiment {}, which is no longer "
                                                "believed: {}",
                                                experiment, reason));
      }
    }
  });
}

}  // namespace windtunnel::agent

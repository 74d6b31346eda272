// The part of ladder.h that works on a journal: runs, the forecast before, the score after.

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "scaling/ladder.h"
#include "scaling/ladder_state.h"
#include "scaling/rate_search.h"
#include "study/run_missing.h"

namespace windtunnel::scaling {
namespace {

using base::Error;
using base::Json;

constexpr const char* kPlanFact = "ladder.plan";
constexpr const char* kRungsFact = "ladder.rungs";
constexpr const char* kPairsFact = "ladder.pairs";
constexpr const char* kGainsFact = "ladder.gains";
constexpr const char* kForecastFact = "ladder.forecast";
constexpr const char* kEarlierForecasts = "ladder.forecasts.earlier";
constexpr const char* kFitFact = "fit";
constexpr const char* kPurpose = "ladder";

/// Nullopt too for a forecast that a longer ladder set aside.
std::optional<Json> present(const study::Journal& journal, const char* name) {
  const auto fact = journal.fact(name);
  return fact && !fact->is_null() ? fact : std::nullopt;
}

LadderPlan stored_plan(const study::Journal& journal) {
  const auto stored = journal.fact(kPlanFact);
  if (!stored) throw Error("this study has no ladder; windtunnel ladder PROGRAM runs one");
  return base::from_trusted_json<LadderPlan>(*stored);
}

FitOptions options_of(const LadderPlan& plan) {
  FitOptions options;
  options.law = plan.law;
  return options;
}

template <class T>
Json list_of(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(base::to_json(item));
  return list;
}

/// Runs of the base's own curve at the rate its size got: id -> the rung's name.
std::map<std::string, std::string> run_names(const LadderState& state, bool held_out) {
  std::map<std::string, std::string> names;
  for (const RungOutcome& rung : state.rungs) {
    if (rung.held_out != held_out || !rung.base_rung.empty()) continue;
    for (const std::string& run : rung.runs) names[run] = rung.name;
  }
  return names;
}

bool fitted_rungs_ended(const LadderState& state) {
  return std::all_of(state.rungs.begin(), state.rungs.end(), [](const RungOutcome& rung) {
    return rung.held_out || !rung.base_rung.empty() || rung.state == "done" ||
           rung.state == "failed";
  });
}

/// Only the plan decides what is fitted and what is held out.
Observations observations_of(const study::Journal& journal,
                             const std::map<std::string, std::string>& names) {
  Observations all = ladder_observations(journal);
  const auto outside = [&](const auto& item) { return names.count(item.name) == 0; };
  all.rows.erase(std::remove_if(all.rows.begin(), all.rows.end(), outside), all.rows.end());
  all.left_out.erase(std::remove_if(all.left_out.begin(), all.left_out.end(), outside),
                     all.left_out.end());
  return all;
}

LawFit make_forecast(const LadderPlan& plan, const LadderState& state,
                     const study::Journal& journal, const FitOptions& options) {
  const Observations fitted = observations_of(journal, run_names(state, false));
  std::vector<Wanted> wanted;
  for (const PlannedRung& rung : plan.rungs) {
    if (!rung.held_out || !rung.base_rung.empty()) continue;
    wanted.push_back({rung.name,
                      {.parameters = static_cast<double>(rung.parameters_active),
                       .tokens = static_cast<double>(rung.tokens),
                       .flops = rung.flops_six_nd}});
  }
  LawFit fit = fit_law(fitted.rows, options, wanted);
  fit.left_out = fitted.left_out;
  return fit;
}

/// Keeps the journal's facts about a ladder true while runs end: what each size got and why, the
/// pairs, and, once the fitted rungs are done, the forecast.
class Bookkeeper {
 public:
  Bookkeeper(const LadderPlan& plan, study::Journal& journal, const FitOptions& options)
      : plan_(plan), journal_(journal), options_(options) {
    rungs_ = journal.fact(kRungsFact).value_or(Json::array());
    pairs_ = journal.fact(kPairsFact).value_or(Json::array());
    is_forecast_ = present(journal, kForecastFact).has_value();
  }

  LadderState look() {
    LadderState state = ladder_state(plan_, records_in(journal_));
    note_rungs(state);
    const Json pairs = list_of(paired_differences(state, records_in(journal_)));
    if (pairs != pairs_) journal_.set_fact(kPairsFact, pairs_ = pairs);
    if (!is_forecast_ && fitted_rungs_ended(state)) forecast(state);
    return state;
  }

 private:
  void note_rungs(const LadderState& state) {
    const Json before = rungs_;
    const Json rungs = list_of(state.rungs);
    if (rungs == before) return;
    journal_.set_fact(kRungsFact, rungs_ = rungs);
    for (size_t i = 0; i < state.rungs.size(); ++i) {
      const RungOutcome& rung = state.rungs[i];
      const Json* known = i < before.size() ? base::find_path(before[i], "rate_note") : nullptr;
      if (rung.tried.empty() || rung.rate_note.empty()) continue;
      if (known != nullptr && *known == rung.rate_note) continue;
      journal_.add_event("learning_rate", "rung " + rung.name + ": " + rung.rate_note);
    }
  }

  /// Once; an error is noted and does not stop the runs in flight.
  void forecast(const LadderState& state) {
    is_forecast_ = true;
    try {
      const LawFit fit = make_forecast(plan_, state, journal_, options_);
      journal_.set_fact(kForecastFact, base::to_json(fit));
      for (const Forecast& forecast : fit.forecasts) {
        journal_.add_event("forecast", "rung " + forecast.name + " is forecast to reach " +
                                           base::format_number(forecast.predicted, 5) + " " +
                                           fit.loss_unit);
      }
    } catch (const Error& error) {
      journal_.add_event("forecast_failed", error.what());
    }
  }

  const LadderPlan& plan_;
  study::Journal& journal_;
  const FitOptions& options_;
  Json rungs_;
  Json pairs_;
  bool is_forecast_ = false;
};

/// What must be equal for two plans to mean the same runs.
Json identity(const LadderPlan& plan) {
  Json list = Json::array({plan.ladder.seeds, base::to_json(plan.ladder.learning_rates),
                           plan.ladder.learning_rate_exponent});
  for (const PlannedRung& rung : plan.rungs) {
    list.push_back(
        {rung.name, rung.curve, rung.held_out, rung.rate_status, rung.config_fingerprint});
  }
  return list;
}

/// All runs of `before` are runs of `after`, which has more rungs.
bool extends(const LadderPlan& before, const LadderPlan& after) {
  const Json old = identity(before), longer = identity(after);
  constexpr std::ptrdiff_t kBeforeRungs = 3;
  if (longer.size() <= old.size()) return false;
  if (!std::equal(old.begin(), old.begin() + kBeforeRungs, longer.begin())) return false;
  return std::all_of(old.begin(), old.end(), [&](const Json& item) {
    return std::find(longer.begin(), longer.end(), item) != longer.end();
  });
}

std::vector<study::PlannedRun> planned_runs(const LadderState& state) {
  std::vector<study::PlannedRun> runs;
  for (const LadderRun& run : state.runs) {
    runs.push_back(
        {.request = {.id = run.id, .purpose = kPurpose, .config = run.config, .resume = true},
         .experiment = std::nullopt});
  }
  return runs;
}

}  // namespace

void store_plan(const LadderPlan& plan, study::Journal& journal) {
  const auto stored = journal.fact(kPlanFact);
  if (!stored) {
    journal.set_fact(kPlanFact, base::to_json(plan));
    return;
  }
  const auto before = base::from_trusted_json<LadderPlan>(*stored);
  if (before.data_fingerprint != plan.data_fingerprint) {
    throw Error("this study's ladder is on the corpus manifest '" + before.data_fingerprint +
                "', not on '" + plan.data_fingerprint +
                "'; a ladder has one manifest: use another study folder, or --fresh to start over");
  }
  if (identity(before) == identity(plan)) return;
  if (extends(before, plan)) {
    // The forecasts so far stay as they were made; the longer ladder makes its own.
    Json earlier = journal.fact(kEarlierForecasts).value_or(Json::array());
    if (const auto forecast = present(journal, kForecastFact)) earlier.push_back(*forecast);
    journal.together([&] {
      journal.set_fact(kEarlierForecasts, earlier);
      journal.set_fact(kForecastFact, nullptr);
      journal.set_fact(kPlanFact, base::to_json(plan));
      journal.add_event("ladder", "has " + std::to_string(plan.rungs.size()) + " rungs, before " +
                                      std::to_string(before.rungs.size()));
    });
    return;
  }
  throw Error(
      "this study holds the plan of another ladder (other rungs, variants, seeds, rates or "
      "configuration); use another study folder, or --fresh to start over");
}

std::vector<study::RunRecord> run_ladder(const LadderPlan& plan, study::Journal& journal,
                                         study::Runner& runner, const std::filesystem::path& study,
                                         const FitOptions& options,
                                         const std::function<void(const study::Runner&)>& on_tick) {
  store_plan(plan, journal);
  Bookkeeper books(plan, journal, options);
  return study::run_supplied([&] { return planned_runs(books.look()); }, journal, runner, study,
                             on_tick);
}

std::vector<study::RunRecord> run_ladder(const LadderPlan& plan, study::Journal& journal,
                                         study::Runner& runner, const std::filesystem::path& study,
                                         const std::function<void(const study::Runner&)>& on_tick) {
  return run_ladder(plan, journal, runner, study, options_of(plan), on_tick);
}

Observations ladder_observations(const study::Journal& journal,
                                 const std::string& flops_convention) {
  std::vector<study::RunRecord> records;
  for (const study::JournalRun& run : journal.runs()) {
    if (run.purpose == kPurpose && run.record) records.push_back(*run.record);
  }
  Observations observations = observations_from_records(records, flops_convention);
  if (!journal.fact(kPlanFact)) return observations;
  const LadderState state = ladder_state(stored_plan(journal), records_in(journal));
  std::map<std::string, const RungOutcome*> rungs;
  std::map<std::string, const LadderRun*> runs;
  for (const RungOutcome& rung : state.rungs) rungs[rung.name] = &rung;
  for (const LadderRun& run : state.runs) runs[run.id] = &run;
  for (Observation& row : observations.rows) {
    const auto run = runs.find(row.name);
    if (run == runs.end()) continue;
    const RungOutcome& rung = *rungs.at(run->second->rung);
    row.arm = rung.curve;
    row.size = rung.base_rung.empty() ? rung.name : rung.base_rung;
    row.learning_rate = run->second->config.train.optimizer.learning_rate;
    row.batch_tokens = static_cast<double>(run->second->config.train.tokens_per_step);
  }
  std::map<std::string, bool> is_tuned;
  for (const RungOutcome& rung : state.rungs) {
    if (rung.rate_status.empty() || rung.rate_status == rate_status::kGiven) continue;
    for (const TriedRate& tried : rung.tried) is_tuned[tried.run] = false;
    for (const std::string& run : rung.runs) {
      is_tuned[run] = rung.rate_status == rate_status::kTuned;
    }
  }
  for (Observation& row : observations.rows) {
    const auto found = is_tuned.find(row.name);
    if (found != is_tuned.end()) row.learning_rate_tuned = found->second;
  }
  return observations;
}

Observations chosen_observations(const study::Journal& journal, const std::string& flops_convention,
                                 bool every_curve) {
  Observations all = ladder_observations(journal, flops_convention);
  if (!journal.fact(kPlanFact)) return all;
  const LadderPlan plan = stored_plan(journal);
  std::set<std::string> chosen;
  for (const RungOutcome& rung : ladder_state(plan, records_in(journal)).rungs) {
    chosen.insert(rung.runs.begin(), rung.runs.end());
  }
  Observations kept;
  kept.left_out = all.left_out;
  for (Observation& row : all.rows) {
    if (!every_curve && row.arm != plan.ladder.curve) {
      kept.left_out.push_back({row.name, "of another curve; --where arm=" + row.arm + " takes it"});
    } else if (chosen.count(row.name) == 0) {
      kept.left_out.push_back({row.name, "at a learning rate that its size did not get"});
    } else {
      kept.rows.push_back(std::move(row));
    }
  }
  return kept;
}

Observations ladder_optima(const study::Journal& journal, const std::string& flops_convention) {
  const LadderPlan plan = stored_plan(journal);
  std::map<std::string, const Observation*> rows;
  const Observations all = ladder_observations(journal, flops_convention);
  for (const Observation& row : all.rows) rows[row.name] = &row;
  Observations optima;
  for (const RungOutcome& rung : ladder_state(plan, records_in(journal)).rungs) {
    if (!rung.base_rung.empty()) continue;
    const auto run = rung.runs.empty() ? rows.end() : rows.find(rung.runs.front());
    if (rung.rate_status != rate_status::kTuned || run == rows.end()) {
      optima.left_out.push_back(
          {rung.name, rung.rate_note.empty() ? "has no tuned learning rate" : rung.rate_note});
      continue;
    }
    Observation row = *run->second;
    row.name = rung.name;
    row.seed.reset();
    row.learning_rate = row.loss = *rung.optimal_learning_rate;
    row.loss_unit = "learning rate";
    optima.rows.push_back(std::move(row));
  }
  return optima;
}

std::optional<LawFit> fit_ladder_rates(const study::Journal& journal) {
  const Observations optima = ladder_optima(journal);
  try {
    return fit_law(optima.rows, {.law = "rate_n"});
  } catch (const Error&) {
    return std::nullopt;  // too few tuned sizes: outcome_table says of each size how it got its
                          // rate
  }
}

std::vector<GainVerdict> judge_ladder(study::Journal& journal) {
  const std::vector<Observation> rows = ladder_observations(journal).rows;
  const std::string base = stored_plan(journal).ladder.curve;
  std::vector<GainVerdict> verdicts;
  for (const std::string& arm : arms_of(rows)) {
    if (arm == base || arm.empty()) continue;
    try {
      verdicts.push_back(compare_arms(rows, base, arm));
    } catch (const Error& error) {
      journal.add_event("gain_failed", arm + " against " + base + ": " + error.what());
    }
  }
  journal.set_fact(kGainsFact, list_of(verdicts));
  return verdicts;
}

LawFit fit_ladder(study::Journal& journal, const FitOptions& options) {
  const LadderPlan plan = stored_plan(journal);
  const LadderState state = ladder_state(plan, records_in(journal));
  LawFit fit;
  if (const auto stored = present(journal, kForecastFact)) {
    fit = base::from_trusted_json<LawFit>(*stored);
  } else {
    fit = make_forecast(plan, state, journal, options);
    journal.set_fact(kForecastFact, base::to_json(fit));
  }
  const auto names = run_names(state, true);
  const Observations held_out = observations_of(journal, names);
  score_forecasts(fit, held_out.rows, names);
  fit.left_out.insert(fit.left_out.end(), held_out.left_out.begin(), held_out.left_out.end());
  journal.set_fact(kFitFact, base::to_json(fit));
  return fit;
}

LawFit fit_ladder(study::Journal& journal) {
  return fit_ladder(journal, options_of(stored_plan(journal)));
}

}  // namespace windtunnel::scaling

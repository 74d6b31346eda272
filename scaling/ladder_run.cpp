// The half of ladder.h that works on a journal: runs, the forecast before, the score after.

#include <algorithm>
#include <map>

#include "base/text.h"
#include "scaling/ladder.h"
#include "study/run_missing.h"

namespace windtunnel::scaling {
namespace {

using base::Error;
using base::Json;

constexpr const char* kPlanFact = "ladder.plan";
constexpr const char* kForecastFact = "ladder.forecast";
constexpr const char* kFitFact = "fit";
constexpr const char* kPurpose = "ladder";

LadderPlan stored_plan(const study::Journal& journal) {
  const auto stored = journal.fact(kPlanFact);
  if (!stored) throw Error("this study has no ladder; windtunnel ladder PROGRAM runs one");
  return base::from_trusted_json<LadderPlan>(*stored);
}

/// Runs of a rung by id -> the rung's name.
std::map<std::string, std::string> run_names(const LadderPlan& plan, bool held_out) {
  std::map<std::string, std::string> names;
  for (const PlannedRung& rung : plan.rungs) {
    if (rung.held_out != held_out) continue;
    for (int64_t seed = 1; seed <= plan.ladder.seeds; ++seed) {
      names[ladder_run_id(rung.name, seed)] = rung.name;
    }
  }
  return names;
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

LawFit make_forecast(const LadderPlan& plan, const study::Journal& journal,
                     const FitOptions& options) {
  const Observations fitted = observations_of(journal, run_names(plan, false));
  std::vector<Wanted> wanted;
  for (const PlannedRung& rung : plan.rungs) {
    if (!rung.held_out) continue;
    wanted.push_back({rung.name,
                      {.parameters = static_cast<double>(rung.parameters_active),
                       .tokens = static_cast<double>(rung.tokens),
                       .flops = rung.flops_six_nd}});
  }
  LawFit fit = fit_law(fitted.rows, options, wanted);
  fit.left_out = fitted.left_out;
  return fit;
}

bool fitted_rungs_ended(const LadderPlan& plan, const study::Journal& journal) {
  for (const auto& [id, rung] : run_names(plan, false)) {
    const auto run = journal.run(id);
    if (!run || !run->record) return false;
  }
  return true;
}

/// Stores the forecast once. Until then the fitted rungs are looked at again whenever a run may
/// have ended; an error is noted once and does not stop the runs in flight.
class ForecastWhenReady {
 public:
  ForecastWhenReady(const LadderPlan& plan, study::Journal& journal, const FitOptions& options)
      : plan_(plan), journal_(journal), options_(options) {
    done_ = journal.fact(kForecastFact).has_value();
  }

  void look() {
    if (done_ || !fitted_rungs_ended(plan_, journal_)) return;
    done_ = true;
    try {
      const LawFit fit = make_forecast(plan_, journal_, options_);
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

 private:
  const LadderPlan& plan_;
  study::Journal& journal_;
  const FitOptions& options_;
  bool done_ = false;
};

/// The plan of a study is written once; a resumed study must mean the same runs.
void store_plan(const LadderPlan& plan, study::Journal& journal) {
  const auto stored = journal.fact(kPlanFact);
  if (!stored) {
    journal.set_fact(kPlanFact, base::to_json(plan));
    return;
  }
  const auto before = base::from_trusted_json<LadderPlan>(*stored);
  const auto identity = [](const LadderPlan& of) {
    Json list = Json::array({of.ladder.seeds});
    for (const PlannedRung& rung : of.rungs) {
      list.push_back({rung.name, rung.held_out, rung.config_fingerprint});
    }
    return list;
  };
  if (identity(before) != identity(plan)) {
    throw Error(
        "this study holds the plan of another ladder (other rungs, seeds or configuration); use "
        "another study folder, or --fresh to start over");
  }
}

}  // namespace

std::string ladder_run_id(const std::string& rung, int64_t seed) {
  return "ladder-" + rung + "-s" + std::to_string(seed);
}

std::vector<study::RunRecord> run_ladder(const LadderPlan& plan, study::Journal& journal,
                                         study::Runner& runner, const std::filesystem::path& study,
                                         const FitOptions& options,
                                         const std::function<void(const study::Runner&)>& on_tick) {
  store_plan(plan, journal);
  std::vector<study::PlannedRun> runs;
  for (auto rung = plan.rungs.rbegin(); rung != plan.rungs.rend(); ++rung) {
    for (int64_t seed = 1; seed <= plan.ladder.seeds; ++seed) {
      auto config = base::from_trusted_json<study::RunConfig>(rung->config);
      config.train.seed = seed;
      runs.push_back({.request = {.id = ladder_run_id(rung->name, seed),
                                  .purpose = kPurpose,
                                  .config = config,
                                  .resume = true},
                      .experiment = std::nullopt});
    }
  }
  ForecastWhenReady forecast(plan, journal, options);
  auto records = study::run_missing(runs, journal, runner, study, [&](const study::Runner& now) {
    forecast.look();
    if (on_tick) on_tick(now);
  });
  forecast.look();
  return records;
}

Observations ladder_observations(const study::Journal& journal) {
  std::vector<study::RunRecord> records;
  for (const study::JournalRun& run : journal.runs()) {
    if (run.purpose == kPurpose && run.record) records.push_back(*run.record);
  }
  return observations_from_records(records, convention::kSixND);
}

LawFit fit_ladder(study::Journal& journal, const FitOptions& options) {
  const LadderPlan plan = stored_plan(journal);
  LawFit fit;
  if (const auto stored = journal.fact(kForecastFact)) {
    fit = base::from_trusted_json<LawFit>(*stored);
  } else {
    fit = make_forecast(plan, journal, options);
    journal.set_fact(kForecastFact, base::to_json(fit));
  }
  const auto names = run_names(plan, true);
  const Observations held_out = observations_of(journal, names);
  score_forecasts(fit, held_out.rows, names);
  fit.left_out.insert(fit.left_out.end(), held_out.left_out.begin(), held_out.left_out.end());
  journal.set_fact(kFitFact, base::to_json(fit));
  return fit;
}

}  // namespace windtunnel::scaling

#pragma once
// The rung that a plan asks for as an entry of a study's ladder, its forecast before it is trained,
// and how the forecast did.
//
// Fact in the journal:  plan.forecasts   list of RungForecast, without outcomes; an entry is never
//                                        changed: the first forecast of a rung is the one scored

#include <optional>
#include <string>
#include <vector>

#include "scaling/ladder.h"
#include "scaling/plan.h"

namespace windtunnel::scaling {

struct NextLadder {
  /// The study's ladder with the rung added.
  LadderConfig ladder;
  /// It, as the extended ladder plans it: real N, whole steps.
  PlannedRung rung;
};

/// The ladder of `plan` with the size nearest to `wanted`: the nearest rung's patch at another
/// model.width. Held out where it lies beyond the others. Nullopt if no width near makes a ladder
/// that can be planned (a ladder of budgets takes larger budgets only, one of ratios larger sizes
/// only).
std::optional<NextLadder> next_ladder(const LadderPlan& plan, const NextRung& wanted);

/// The first of `wanted` that the ladder can take.
std::optional<NextLadder> next_ladder(const LadderPlan& plan, const std::vector<NextRung>& wanted);

/// A `ladder:` block for a program's front matter, defaults left out.
std::string ladder_yaml(const LadderConfig& ladder);

struct RungForecast {
  std::string rung;
  std::string law;
  /// Fitted, when it was made.
  int64_t rows = 0;
  double parameters = 0;
  double tokens = 0;
  double flops = 0;
  double predicted = 0;
  /// Of the loss of one new run.
  Interval interval;
  double confidence = 0.95;
  /// Mean over its runs, once they have ended.
  std::optional<double> measured;
  /// measured / predicted - 1.
  std::optional<double> relative_error;
  std::optional<bool> covered;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("rung", self.rung, {.help = "name in the ladder"});
    visit("law", self.law, {.help = "that forecast it"});
    visit("rows", self.rows, {.help = "the law was fitted to"});
    visit("parameters", self.parameters, {.help = "N"});
    visit("tokens", self.tokens, {.help = "D"});
    visit("flops", self.flops, {.help = "C = 6ND"});
    visit("predicted", self.predicted, {.help = "loss, before it was trained"});
    visit("interval", self.interval, {.help = "of the loss of one new run"});
    visit("confidence", self.confidence, {.help = "of the interval"});
    visit("measured", self.measured, {.help = "mean over its runs; null: not trained yet"});
    visit("relative_error", self.relative_error, {.help = "measured / predicted - 1"});
    visit("covered", self.covered, {.help = "measured lies inside the interval"});
  }
};

RungForecast forecast_rung(const LawFit& fit, const PlannedRung& rung);

/// Adds a forecast to the fact, unless its rung has one already or has been trained.
void store_rung_forecast(study::Journal& journal, const RungForecast& forecast);

/// The stored ones, with the outcomes there are.
std::vector<RungForecast> rung_forecasts(const study::Journal& journal);

/// For people; "" if there are none.
std::string rung_forecasts_text(const std::vector<RungForecast>& forecasts);

}  // namespace windtunnel::scaling

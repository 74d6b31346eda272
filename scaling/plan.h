#pragma once
// What to train for a budget, from a law of size and tokens with its uncertainty; what a wrong
// choice costs; and which run would make the forecast better soonest.

#include "scaling/law_fit.h"

namespace windtunnel::scaling {

/// N or D off by a factor, at the same compute.
struct WrongChoice {
  double factor = 1;
  double parameters = 0;
  double tokens = 0;
  double loss = 0;
  double loss_lost = 0;
  Interval loss_lost_interval;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("factor", self.factor, {.help = "N over N*"});
    visit("parameters", self.parameters, {.help = "N"});
    visit("tokens", self.tokens, {.help = "D, at the same C"});
    visit("loss", self.loss, {.help = "by the law"});
    visit("loss_lost", self.loss_lost, {.help = "over the loss at N*"});
    visit("loss_lost_interval", self.loss_lost_interval, {.help = "from the draws"});
  }
};

struct NextRung {
  double parameters = 0;
  double tokens = 0;
  double flops = 0;
  double tokens_per_parameter = 0;
  double predicted = 0;
  Interval interval;
  /// Standard deviation of the law's forecast for the budget, now and with this run.
  double sd_now = 0;
  double sd_after = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("parameters", self.parameters, {.help = "N"});
    visit("tokens", self.tokens, {.help = "D"});
    visit("flops", self.flops, {.help = "C = 6ND"});
    visit("tokens_per_parameter", self.tokens_per_parameter, {.help = "D / N"});
    visit("predicted", self.predicted, {.help = "loss, to be scored against the run"});
    visit("interval", self.interval, {.help = "of the loss of one new run there"});
    visit("sd_now", self.sd_now, {.help = "of the forecast for the budget, unit of the residual"});
    visit("sd_after", self.sd_after, {.help = "with this run"});
  }
};

struct ComputePlan {
  double flops = 0;
  std::string flops_convention = convention::kSixND;
  double parameters = 0;
  double tokens = 0;
  double tokens_per_parameter = 0;
  double loss = 0;
  Interval parameters_interval;
  Interval tokens_interval;
  Interval loss_interval;
  std::vector<WrongChoice> wrong_choices;
  /// Best first: most forecast variance removed for a FLOP.
  std::vector<NextRung> next_rungs;
  std::vector<std::string> warnings;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("flops", self.flops, {.help = "the budget, C"});
    visit("flops_convention", self.flops_convention, {.help = "how the budget is counted"});
    visit("parameters", self.parameters, {.help = "N*"});
    visit("tokens", self.tokens, {.help = "D*"});
    visit("tokens_per_parameter", self.tokens_per_parameter, {.help = "D* / N*"});
    visit("loss", self.loss, {.help = "at the optimum"});
    visit("parameters_interval", self.parameters_interval, {.help = "of N*"});
    visit("tokens_interval", self.tokens_interval, {.help = "of D*"});
    visit("loss_interval", self.loss_interval, {.help = "of the law's loss there, no noise"});
    visit("wrong_choices", self.wrong_choices, {.help = "what a factor in N costs"});
    visit("next_rungs", self.next_rungs, {.help = "runs that tell most for a FLOP, best first"});
    visit("warnings", self.warnings, {.help = "what to know before using the numbers"});
  }
};

/// Intervals come from the fit's bootstrap draws; without draws their ends are null and a warning
/// says so. The next rungs are judged to first order (the law's Jacobian at the rows), on a grid of
/// budgets up to four times the largest and tokens per parameter from 5 to 160; a run is taken to
/// cost GPU-seconds in proportion to its FLOPs. A law of C alone has no best size: N and D then
/// follow the one ratio of tokens to parameters that its rows have, and nothing is said about
/// another.
/// Errors: Error if the law has neither a closed-form optimum nor rows along one ratio.
ComputePlan plan_compute(const LawFit& fit, double flops);

/// The loss of a fitted law at a point, and the interval of one new run there.
struct PointForecast {
  double predicted = 0;
  Interval interval;
};
PointForecast forecast_at(const LawFit& fit, const Point& point);

/// For people.
std::string plan_text(const ComputePlan& plan);

}  // namespace windtunnel::scaling

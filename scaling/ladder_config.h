#pragma once
// What a ladder is asked to be. Three designs, from the same list of sizes:
//
//   sizes      each size once, at tokens_per_parameter (or what the rung says): L(C)
//   ratios     each size at each of several tokens per parameter: L(N, D)
//   budgets    several sizes at each of several compute budgets (iso-FLOP): L(N, D), N*(C)
//
// Beside the base's own curve, variants are trained at the same sizes, for the same tokens and on
// the same seeds, so that sizes can be compared pair by pair.

#include <optional>
#include <string>
#include <vector>

#include "base/config.h"

namespace windtunnel::scaling {

struct RungConfig {
  /// Part of run ids: letters, digits, '.', '_' and '-'.
  std::string name;
  /// Dotted path -> new value, on the configuration the ladder is for. A rung that sets
  /// train.optimizer.learning_rate is not tuned.
  base::Json patch = base::Json::object();
  bool held_out = false;
  std::optional<double> tokens_per_parameter;
  std::optional<double> tokens;
  std::optional<int64_t> steps;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "name of the size, e.g. w24"});
    visit(
        "patch", self.patch,
        {.help = "dotted path -> new value, e.g. model.width: 24", .schema = {{"type", "object"}}});
    visit("held_out", self.held_out, {.help = "not fitted but forecast; must be the largest"});
    visit("tokens_per_parameter", self.tokens_per_parameter,
          {.help = "of this size; null: the ladder's", .exclusive_minimum = 0});
    visit("tokens", self.tokens,
          {.help = "to train this size on; null: from tokens_per_parameter",
           .unit = "tokens",
           .exclusive_minimum = 0});
    visit("steps", self.steps,
          {.help = "of this size; null: its tokens in whole steps, to the nearest", .minimum = 1});
  }
};

struct VariantConfig {
  /// Part of run ids, as a rung's name.
  std::string name;
  /// On top of the rung's.
  base::Json patch = base::Json::object();
  /// Names of rungs; empty: all.
  std::vector<std::string> rungs;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "name of the curve, e.g. no_stem"});
    visit(
        "patch", self.patch,
        {.help = "dotted path -> new value, on top of the rung's", .schema = {{"type", "object"}}});
    visit("rungs", self.rungs, {.help = "sizes it is trained at; empty: all"});
  }
};

struct FlopBudget {
  /// Of one run, 6ND.
  double flops = 0;
  bool held_out = false;
  /// Names of rungs; empty: all.
  std::vector<std::string> rungs;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("flops", self.flops, {.help = "of one run, 6ND", .exclusive_minimum = 0});
    visit("held_out", self.held_out, {.help = "not fitted but forecast; must be the largest"});
    visit("rungs", self.rungs, {.help = "sizes trained for it; empty: all"});
  }
};

struct RateGridConfig {
  std::string tune = "none";
  int points = 3;
  double factor = 3;
  int extensions = 2;
  double exponent_sd = 0.5;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("tune", self.tune,
          {.help = "which sizes try a grid of learning rates; the others take the rule's, fitted "
                   "to the optima of the smaller ones",
           .choices = {"none", "fitted", "all"}});
    visit("points", self.points,
          {.help = "of the grid: the middle one nearest the rule's; an odd number",
           .minimum = 3,
           .maximum = 9});
    visit("factor", self.factor,
          {.help = "between neighbours of the grid", .exclusive_minimum = 1, .maximum = 100});
    visit("extensions", self.extensions,
          {.help = "further points at most, one by one, while the best lies at the grid's edge",
           .minimum = 0,
           .maximum = 10});
    visit("exponent_sd", self.exponent_sd,
          {.help = "how far learning_rate_exponent may be from the truth, as a standard deviation: "
                   "what optima of neighbouring sizes are weighed against",
           .exclusive_minimum = 0,
           .maximum = 10});
  }
};

struct LadderConfig {
  double tokens_per_parameter = 20;
  std::vector<double> ratios;
  std::vector<FlopBudget> budgets;
  double learning_rate_exponent = -0.8;
  RateGridConfig learning_rates;
  int seeds = 1;
  std::string curve = "base";
  std::vector<RungConfig> rungs;
  std::vector<VariantConfig> variants;
  std::optional<double> assumed_flops_per_second;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("tokens_per_parameter", self.tokens_per_parameter,
          {.help = "tokens trained on per active parameter",
           .source = "20: Hoffmann et al. 2022, arXiv:2203.15556",
           .exclusive_minimum = 0});
    visit("ratios", self.ratios,
          {.help = "several tokens per active parameter, each rung at each; at most one of ratios "
                   "and budgets"});
    visit("budgets", self.budgets, {.help = "iso-FLOP: compute budgets with several sizes each"});
    visit("learning_rate_exponent", self.learning_rate_exponent,
          {.help = "peak rate of a rung = the base's * (N of rung / N of base)^exponent, N active; "
                   "what the rule starts from where sizes are tuned",
           .minimum = -5,
           .maximum = 5});
    visit("learning_rates", self.learning_rates, {.help = "a learning rate for each size"});
    visit("seeds", self.seeds, {.help = "runs per rung, seeds 1..k", .minimum = 1, .maximum = 100});
    visit("curve", self.curve, {.help = "name of the curve without a variant"});
    visit("rungs", self.rungs, {.help = "sizes: at least five fitted and a larger one held out"});
    visit("variants", self.variants, {.help = "further curves, paired with it size by size"});
    visit("assumed_flops_per_second", self.assumed_flops_per_second,
          {.help = "speed of one run until one was measured; null: by device",
           .exclusive_minimum = 0});
  }
};

}  // namespace windtunnel::scaling

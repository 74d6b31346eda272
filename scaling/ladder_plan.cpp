// The part of ladder.h that spends nothing: sizes -> tokens, steps, FLOPs, memory, seconds.

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/text.h"
#include "model/census.h"
#include "scaling/ladder.h"
#include "scaling/ladder_design.h"
#include "scaling/rate_search.h"
#include "study/objective_kind.h"

namespace windtunnel::scaling {
namespace {

using base::Json;
using base::Problem;

constexpr const char* kLearningRate = "train.optimizer.learning_rate";
constexpr const char* kEstimatedSteps = "train.schedule.estimated_steps";

/// Exact FLOP/s of one run, of which nothing was measured yet: assumptions, printed as such.
constexpr double kAssumedCpuThread = 5e10;
constexpr double kAssumedGpu = 2.5e14;

/// Ratios of tokens to parameters closer than this are one ratio: what a rung rounds.
constexpr double kOneRatio = 1.05;
/// One more than L(N, D) has parameters.
constexpr int64_t kFittedPointsOfTwoVariables = 6;

bool sets(const Json& patch, const std::string& path) {
  return std::any_of(patch.items().begin(), patch.items().end(), [&](const auto& item) {
    return path == item.key() || path.rfind(item.key() + ".", 0) == 0;
  });
}

std::string count(double value) { return base::format_count(value); }

class Planner {
 public:
  Planner(const study::RunConfig& base, const LadderConfig& ladder, const LadderSetting& setting)
      : base_(base), ladder_(ladder), setting_(setting), census_(study::census_of(base)) {}

  PlannedRung plan(const LadderPoint& point) {
    const std::string subject = "ladder rung " + point.name;
    Json patch = point.rung->patch;
    if (point.variant != nullptr) {
      for (const auto& [path, value] : point.variant->patch.items()) patch[path] = value;
    }
    const Json document = base::apply_patch(base::to_json(base_), patch);
    study::RunConfig config = study::resolve_run_config(document, subject);
    const auto census = study::census_of(config);
    const auto active = static_cast<double>(census.parameters_active);

    PlannedRung planned;
    planned.name = point.name;
    planned.size = point.rung->name;
    planned.curve = point.variant != nullptr ? point.variant->name : ladder_.curve;
    if (point.variant != nullptr) planned.base_rung = base_rungs_.at(partner(point)).name;
    planned.held_out = point.held_out;
    planned.target_tokens = set_budget(point, active, config);
    planned.steps = study::planned_steps(config);
    planned.tokens = planned.steps * config.train.tokens_per_step;
    if (config.train.schedule.kind == "step_cosine" && !sets(patch, kEstimatedSteps)) {
      config.train.schedule.estimated_steps = planned.steps;
    }
    if (sets(patch, kLearningRate)) {
      planned.rate_status = rate_status::kGiven;
    } else {
      const double growth = active / static_cast<double>(census_.parameters_active);
      config.train.optimizer.learning_rate =
          base_.train.optimizer.learning_rate * std::pow(growth, ladder_.learning_rate_exponent);
      const std::string& tune = ladder_.learning_rates.tune;
      const bool is_tuned = tune == "all" || (tune == "fitted" && !point.held_out);
      planned.rate_status = is_tuned ? rate_status::kTuned : rate_status::kExtrapolated;
    }
    // Again, so that what the ladder set itself is refused here and not by the trainer.
    config = study::resolve_run_config(base::to_json(config), subject);
    planned.config = base::to_json(config);
    planned.config_fingerprint = study::config_fingerprint(config);
    planned.learning_rate = config.train.optimizer.learning_rate;
    planned.parameters_active = census.parameters_active;
    planned.parameters_total = census.parameters_total;
    add_costs(config, census, planned);
    if (point.variant == nullptr) base_rungs_[partner(point)] = planned;
    return planned;
  }

  /// A variant that is its base in all but how its budget is written would be trained for nothing.
  bool changes_nothing(const LadderPoint& point, const PlannedRung& planned) const {
    if (point.variant == nullptr) return false;
    const Json& base = base_rungs_.at(partner(point)).config;
    Json config = planned.config;
    config["train"]["budget"] = base.at("train").at("budget");
    return config == base;
  }

 private:
  /// A variant's point and its base's have the same one.
  static std::string partner(const LadderPoint& point) {
    return base::format_number(point.flops.value_or(0), 17) + " " +
           base::format_number(point.tokens_per_parameter.value_or(0), 17) + " " + point.rung->name;
  }

  /// Returns the tokens asked for.
  double set_budget(const LadderPoint& point, double active, study::RunConfig& config) const {
    study::BudgetConfig& budget = config.train.budget;
    if (point.variant != nullptr) {
      const PlannedRung& base = base_rungs_.at(partner(point));
      budget.kind = "tokens";
      budget.amount = static_cast<double>(base.tokens);
      return base.target_tokens;
    }
    const double target = point.flops    ? *point.flops / (6 * active)
                          : point.tokens ? *point.tokens
                                         : *point.tokens_per_parameter * active;
    if (point.steps) {
      budget.kind = "steps";
      budget.amount = static_cast<double>(*point.steps);
    } else if (point.tokens_per_parameter) {
      budget.kind = "tokens_per_parameter";
      budget.amount = *point.tokens_per_parameter;
    } else {
      budget.kind = "tokens";
      budget.amount = target;
    }
    return target;
  }

  void add_costs(const study::RunConfig& config, const model::Census& census,
                 PlannedRung& planned) const {
    const auto tokens = static_cast<double>(planned.tokens);
    planned.flops_exact = tokens * study::training_flops_per_token(config);
    planned.flops_six_nd = tokens * census.flops_per_token_six_n;
    planned.peak_memory_bytes = census.peak_bytes() + study::objectives_cost(config).memory_bytes(
                                                          study::tokens_in_flight(config));
    planned.runs = ladder_.seeds;
    if (planned.rate_status == rate_status::kTuned) {
      planned.runs += ladder_.learning_rates.points - 1;
    }
    if (setting_.corpus_train_tokens) planned.epochs = tokens / *setting_.corpus_train_tokens;
    if (setting_.speed) {
      planned.expected_seconds = planned.flops_exact / setting_.speed->flops_per_second;
    }
  }

  const study::RunConfig& base_;
  const LadderConfig& ladder_;
  const LadderSetting& setting_;
  model::Census census_;
  std::map<std::string, PlannedRung> base_rungs_;
};

bool is_base(const LadderPlan& plan, const PlannedRung& rung) {
  return rung.curve == plan.ladder.curve;
}

/// Of the base's own curve, which is the one that is fitted.
void check_sizes(const LadderPlan& plan, std::vector<Problem>& problems) {
  const PlannedRung* largest = nullptr;
  double most_flops = 0;
  std::map<int64_t, std::string> sizes;
  for (const PlannedRung& rung : plan.rungs) {
    if (!is_base(plan, rung)) continue;
    const auto [found, is_new] = sizes.emplace(rung.parameters_active, rung.size);
    if (!is_new && found->second != rung.size) {
      problems.push_back({"ladder rung " + rung.name,
                          count(static_cast<double>(rung.parameters_active)),
                          "has as many active parameters as rung " + found->second +
                              "; a ladder needs different sizes"});
    }
    if (rung.held_out) continue;
    if (largest == nullptr || rung.parameters_active > largest->parameters_active) largest = &rung;
    most_flops = std::max(most_flops, rung.flops_six_nd);
  }
  for (const PlannedRung& rung : plan.rungs) {
    if (!is_base(plan, rung) || !rung.held_out || largest == nullptr) continue;
    if (plan.ladder.budgets.empty() && rung.parameters_active <= largest->parameters_active) {
      problems.push_back({"ladder rung " + rung.name,
                          count(static_cast<double>(rung.parameters_active)) + " active parameters",
                          "is held out and must be larger than every fitted rung, which end at " +
                              count(static_cast<double>(largest->parameters_active))});
    } else if (rung.flops_six_nd <= most_flops) {
      problems.push_back({"ladder rung " + rung.name,
                          base::format_number(rung.flops_six_nd, 4) + " FLOPs",
                          "is held out and must cost more than every fitted rung, which end at " +
                              base::format_number(most_flops, 4) +
                              ": give it more tokens_per_parameter, or a larger size"});
    }
  }
}

/// "loss_c" along one ratio of tokens to parameters, where size and tokens cannot be told apart;
/// "loss_nd" where the ratio varies.
std::string law_of(const LadderPlan& plan, std::vector<Problem>& problems) {
  double least = 0;
  double most = 0;
  int64_t fitted = 0;
  for (const PlannedRung& rung : plan.rungs) {
    if (!is_base(plan, rung)) continue;
    fitted += rung.held_out ? 0 : 1;
    const double ratio = rung.target_tokens / static_cast<double>(rung.parameters_active);
    least = least == 0 ? ratio : std::min(least, ratio);
    most = std::max(most, ratio);
  }
  if (most <= least * kOneRatio) return "loss_c";
  if (fitted < kFittedPointsOfTwoVariables) {
    problems.push_back({"ladder.rungs", std::to_string(fitted) + " fitted",
                        "must be at least " + std::to_string(kFittedPointsOfTwoVariables) +
                            " where tokens per parameter vary; L(N, D) has that many unknowns but "
                            "one"});
  }
  return "loss_nd";
}

/// Wall clock of runs put, biggest first, into whichever slot is free; where sizes are tuned, at
/// least that of the longest curve, whose sizes wait for each other.
std::optional<double> seconds_of_all(const LadderPlan& plan) {
  std::vector<const PlannedRung*> order;
  for (const PlannedRung& rung : plan.rungs) order.push_back(&rung);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->flops_exact > b->flops_exact; });
  std::vector<double> busy_until(static_cast<size_t>(std::max(plan.slots, 1)), 0.0);
  std::map<std::string, double> chains;
  for (const PlannedRung* rung : order) {
    if (!rung->expected_seconds) return std::nullopt;
    for (int64_t run = 0; run < rung->runs; ++run) {
      *std::min_element(busy_until.begin(), busy_until.end()) += *rung->expected_seconds;
    }
    if (rung->rate_status != rate_status::kTuned) continue;
    const double waves = std::ceil(static_cast<double>(rung->runs) / std::max(plan.slots, 1));
    chains[rung->curve] += waves * *rung->expected_seconds;
  }
  double longest = *std::max_element(busy_until.begin(), busy_until.end());
  for (const auto& [curve, seconds] : chains) longest = std::max(longest, seconds);
  return longest;
}

void sort_rungs(LadderPlan& plan) {
  std::map<std::string, size_t> place = {{plan.ladder.curve, 0}};
  for (const VariantConfig& variant : plan.ladder.variants)
    place.emplace(variant.name, place.size());
  std::stable_sort(plan.rungs.begin(), plan.rungs.end(), [&](const auto& a, const auto& b) {
    return std::make_tuple(place.at(a.curve), a.parameters_active, a.tokens) <
           std::make_tuple(place.at(b.curve), b.parameters_active, b.tokens);
  });
}

}  // namespace

Speed assumed_speed(const study::RunConfig& config, const LadderConfig& ladder) {
  if (ladder.assumed_flops_per_second) {
    return {.flops_per_second = *ladder.assumed_flops_per_second,
            .is_measured = false,
            .source = "ladder.assumed_flops_per_second"};
  }
  if (config.train.device == "cuda") {
    return {.flops_per_second = kAssumedGpu, .is_measured = false, .source = "for one GPU"};
  }
  return {.flops_per_second = kAssumedCpuThread * config.train.threads,
          .is_measured = false,
          .source = "for " + std::to_string(config.train.threads) +
                    (config.train.threads == 1 ? " CPU thread" : " CPU threads")};
}

LadderPlan plan_ladder(const study::RunConfig& base, const LadderConfig& ladder,
                       const LadderSetting& setting) {
  const std::vector<LadderPoint> points = ladder_points(ladder);
  std::vector<Problem> problems;
  LadderPlan plan;
  plan.ladder = ladder;
  plan.slots = setting.slots;
  plan.speed = setting.speed;
  plan.data_fingerprint = setting.data_fingerprint;
  plan.base_parameters = study::census_of(base).parameters_active;
  plan.base_learning_rate = base.train.optimizer.learning_rate;
  Planner planner(base, ladder, setting);
  for (const LadderPoint& point : points) {
    // A variant of a rung that does not resolve has no budget to share.
    if (point.variant != nullptr && !problems.empty()) break;
    try {
      PlannedRung planned = planner.plan(point);
      if (planner.changes_nothing(point, planned)) {
        plan.left_out.push_back({planned.name, "the variant's patch changes nothing there"});
      } else {
        plan.rungs.push_back(std::move(planned));
      }
    } catch (const base::ConfigError& error) {
      for (Problem problem : error.problems) {
        problem.path = "rung " + point.name + ": " + problem.path;
        problems.push_back(std::move(problem));
      }
    }
  }
  check_sizes(plan, problems);
  if (problems.empty()) plan.law = law_of(plan, problems);
  if (!problems.empty()) throw base::ConfigError("ladder", std::move(problems));
  sort_rungs(plan);
  plan.expected_seconds = seconds_of_all(plan);
  return plan;
}

}  // namespace windtunnel::scaling

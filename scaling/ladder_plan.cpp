// The half of ladder.h that spends nothing: sizes -> tokens, steps, FLOPs, memory, seconds.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "model/census.h"
#include "scaling/ladder.h"
#include "study/objective_kind.h"

namespace windtunnel::scaling {
namespace {

using base::Json;
using base::Problem;

constexpr int kFittedRungs = 5;
constexpr const char* kLearningRate = "train.optimizer.learning_rate";

bool is_under(const std::string& path, const std::string& prefix) {
  return path == prefix || path.rfind(prefix + ".", 0) == 0;
}

void check_rungs(const LadderConfig& ladder, std::vector<Problem>& problems) {
  std::set<std::string> names;
  int fitted = 0;
  for (size_t i = 0; i < ladder.rungs.size(); ++i) {
    const RungConfig& rung = ladder.rungs[i];
    const std::string path = "ladder.rungs." + std::to_string(i);
    fitted += rung.held_out ? 0 : 1;
    const bool legal = !rung.name.empty() &&
                       rung.name.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
                           std::string::npos;
    if (!legal) {
      problems.push_back({path + ".name", "'" + rung.name + "'",
                          "must be letters, digits, '.', '_' or '-'; it names a folder"});
    } else if (!names.insert(rung.name).second) {
      problems.push_back({path + ".name", rung.name, "is the name of an earlier rung"});
    }
    for (const auto& [target, value] : rung.patch.items()) {
      for (const char* owned : {"train.budget", "train.seed", "data", "evaluation"}) {
        if (is_under(target, owned) || is_under(owned, target)) {
          problems.push_back({path + ".patch." + target, base::shorten(value.dump(), 60),
                              "is set by the ladder and equal for all rungs; remove it"});
        }
      }
    }
  }
  const size_t held_out = ladder.rungs.size() - static_cast<size_t>(fitted);
  if (fitted < kFittedRungs) {
    problems.push_back({"ladder.rungs", std::to_string(fitted) + " fitted",
                        "must hold at least " + std::to_string(kFittedRungs) +
                            " rungs without held_out; fewer show no curve"});
  }
  if (held_out == 0) {
    problems.push_back({"ladder.rungs", "none held out",
                        "must hold one larger rung with held_out: true to test the forecast"});
  }
}

PlannedRung plan_rung(const study::RunConfig& best, const RungConfig& rung,
                      const LadderConfig& ladder, const LadderSetting& setting) {
  const auto best_census = study::census_of(best);
  Json document = base::apply_patch(base::to_json(best), rung.patch);
  base::set_path(document, "train.budget.kind", "tokens_per_parameter");
  base::set_path(document, "train.budget.amount", ladder.tokens_per_parameter);
  study::RunConfig config = study::resolve_run_config(document, "ladder rung " + rung.name);
  const auto census = study::census_of(config);
  bool has_own_rate = false;
  for (const auto& [path, value] : rung.patch.items()) {
    has_own_rate = has_own_rate || is_under(kLearningRate, path);
  }
  if (!has_own_rate) {
    const double growth = static_cast<double>(census.parameters_active) /
                          static_cast<double>(best_census.parameters_active);
    config.train.optimizer.learning_rate =
        best.train.optimizer.learning_rate * std::pow(growth, ladder.learning_rate_exponent);
    // Again, so that a rate out of range is refused here and not by the trainer.
    config = study::resolve_run_config(base::to_json(config), "ladder rung " + rung.name);
  }

  PlannedRung planned;
  planned.name = rung.name;
  planned.held_out = rung.held_out;
  planned.config = base::to_json(config);
  planned.config_fingerprint = study::config_fingerprint(config);
  planned.parameters_active = census.parameters_active;
  planned.parameters_total = census.parameters_total;
  planned.steps = study::planned_steps(config);
  planned.tokens = planned.steps * config.train.tokens_per_step;
  planned.learning_rate = config.train.optimizer.learning_rate;
  const auto tokens = static_cast<double>(planned.tokens);
  planned.flops_exact = tokens * study::training_flops_per_token(config);
  planned.flops_six_nd = tokens * census.flops_per_token_six_n;
  planned.peak_memory_bytes = census.peak_bytes() + study::objectives_cost(config).memory_bytes(
                                                        study::tokens_in_flight(config));
  if (setting.corpus_train_tokens) planned.epochs = tokens / *setting.corpus_train_tokens;
  if (setting.tokens_per_second) {
    planned.expected_seconds =
        planned.flops_exact / (*setting.tokens_per_second * study::training_flops_per_token(best));
  }
  return planned;
}

void check_sizes(const std::vector<PlannedRung>& rungs, std::vector<Problem>& problems) {
  int64_t largest_fitted = 0;
  std::map<int64_t, std::string> sizes;
  for (const PlannedRung& rung : rungs) {
    if (!rung.held_out) largest_fitted = std::max(largest_fitted, rung.parameters_active);
    const auto [found, is_new] = sizes.emplace(rung.parameters_active, rung.name);
    if (!is_new) {
      problems.push_back({"ladder rung " + rung.name,
                          base::format_count(static_cast<double>(rung.parameters_active)),
                          "has as many active parameters as rung " + found->second +
                              "; a ladder needs different sizes"});
    }
  }
  for (const PlannedRung& rung : rungs) {
    if (!rung.held_out || rung.parameters_active > largest_fitted) continue;
    problems.push_back(
        {"ladder rung " + rung.name,
         base::format_count(static_cast<double>(rung.parameters_active)) + " active parameters",
         "is held out and must be larger than every fitted rung, which end at " +
             base::format_count(static_cast<double>(largest_fitted))});
  }
}

/// Wall clock of runs put, biggest first, into whichever slot is free.
std::optional<double> seconds_of_all(const LadderPlan& plan) {
  std::vector<double> busy_until(static_cast<size_t>(std::max(plan.slots, 1)), 0.0);
  for (auto rung = plan.rungs.rbegin(); rung != plan.rungs.rend(); ++rung) {
    if (!rung->expected_seconds) return std::nullopt;
    for (int seed = 0; seed < plan.ladder.seeds; ++seed) {
      *std::min_element(busy_until.begin(), busy_until.end()) += *rung->expected_seconds;
    }
  }
  return *std::max_element(busy_until.begin(), busy_until.end());
}

}  // namespace

LadderPlan plan_ladder(const study::RunConfig& base, const LadderConfig& ladder,
                       const LadderSetting& setting) {
  std::vector<Problem> problems;
  check_rungs(ladder, problems);
  if (!problems.empty()) throw base::ConfigError("ladder", std::move(problems));
  LadderPlan plan;
  plan.ladder = ladder;
  plan.slots = setting.slots;
  for (const RungConfig& rung : ladder.rungs) {
    try {
      plan.rungs.push_back(plan_rung(base, rung, ladder, setting));
    } catch (const base::ConfigError& error) {
      for (Problem problem : error.problems) {
        problem.path = "rung " + rung.name + ": " + problem.path;
        problems.push_back(std::move(problem));
      }
    }
  }
  check_sizes(plan.rungs, problems);
  if (!problems.empty()) throw base::ConfigError("ladder", std::move(problems));
  std::stable_sort(plan.rungs.begin(), plan.rungs.end(), [](const auto& a, const auto& b) {
    return a.parameters_active < b.parameters_active;
  });
  plan.expected_seconds = seconds_of_all(plan);
  return plan;
}

std::string ladder_table(const LadderPlan& plan) {
  std::vector<std::vector<std::string>> cells = {{"rung", "N active", "N total", "tokens", "steps",
                                                  "rate", "C = 6ND", "C exact", "memory", "epochs",
                                                  "expected", ""}};
  for (const PlannedRung& rung : plan.rungs) {
    const auto count = [](auto value) { return base::format_count(static_cast<double>(value)); };
    cells.push_back({rung.name, count(rung.parameters_active), count(rung.parameters_total),
                     count(rung.tokens), std::to_string(rung.steps),
                     base::format_number(rung.learning_rate, 3),
                     base::format_number(rung.flops_six_nd, 3),
                     base::format_number(rung.flops_exact, 3), count(rung.peak_memory_bytes) + "B",
                     rung.epochs ? base::format_number(*rung.epochs, 3) : "-",
                     rung.expected_seconds ? base::format_duration(*rung.expected_seconds) : "-",
                     rung.held_out ? "held out" : ""});
  }
  std::string text = base::format_table(cells);
  text += std::to_string(plan.rungs.size() * static_cast<size_t>(plan.ladder.seeds)) + " runs, " +
          base::format_number(plan.ladder.tokens_per_parameter) + " tokens per active parameter";
  if (plan.expected_seconds) {
    text += ", about " + base::format_duration(*plan.expected_seconds) + " with " +
            std::to_string(plan.slots) + (plan.slots == 1 ? " run at a time" : " runs at once");
  }
  return text + "\n";
}

}  // namespace windtunnel::scaling

#include "scaling/next_rung.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "scaling/ladder_state.h"

namespace windtunnel::scaling {
namespace {

using base::Json;

constexpr const char* kFact = "plan.forecasts";
constexpr const char* kWidth = "model.width";
/// Ratios of tokens to parameters closer than this are the ladder's own.
constexpr double kSameRatio = 0.01;
/// A size further off than this is another rung than the plan asked for.
constexpr double kNearEnough = 1.3;

struct SizedPatch {
  Json patch;
  double parameters = 0;
};

const PlannedRung* nearest_rung(const LadderPlan& plan, double parameters) {
  const auto distance = [&](const PlannedRung& rung) {
    return std::abs(std::log(static_cast<double>(rung.parameters_active) / parameters));
  };
  const PlannedRung* nearest = nullptr;
  for (const PlannedRung& rung : plan.rungs) {
    if (!rung.base_rung.empty()) continue;
    if (nearest == nullptr || distance(rung) < distance(*nearest)) nearest = &rung;
  }
  return nearest;
}

/// The width whose N is nearest, with everything else as in `rung`; nullopt if none is near enough.
std::optional<SizedPatch> patch_for(const LadderPlan& plan, const PlannedRung& rung,
                                    double parameters) {
  const Json* width = base::find_path(rung.config, kWidth);
  if (width == nullptr || !width->is_number_integer()) return std::nullopt;
  const auto from = width->get<int64_t>();
  const int64_t step = from >= 512 ? 64 : from >= 64 ? 8 : 4;
  Json patch;
  for (const RungConfig& size : plan.ladder.rungs) {
    if (size.name == rung.size) patch = size.patch;
  }
  std::optional<SizedPatch> best;
  const auto off = [&](double found) { return std::abs(std::log(found / parameters)); };
  for (int64_t tried = step; tried <= 4 * from; tried += step) {
    try {
      const study::RunConfig config = study::resolve_run_config(
          base::apply_patch(rung.config, {{kWidth, tried}}), "a rung of another width");
      const auto found = static_cast<double>(study::census_of(config).parameters_active);
      if (best && off(found) >= off(best->parameters)) continue;
      patch[kWidth] = tried;
      best = {.patch = patch, .parameters = found};
    } catch (const base::ConfigError&) {
      continue;  // heads do not divide this width
    }
  }
  if (best && off(best->parameters) > std::log(kNearEnough)) return std::nullopt;
  return best;
}

std::optional<NextLadder> planned(const LadderPlan& plan, const PlannedRung& like,
                                  const LadderConfig& ladder, const std::string& name) {
  auto config = base::from_trusted_json<study::RunConfig>(like.config);
  config.train.optimizer.learning_rate = plan.base_learning_rate;
  try {
    const LadderPlan extended = plan_ladder(config, ladder);
    for (const PlannedRung& rung : extended.rungs) {
      if (rung.size == name && rung.base_rung.empty()) return NextLadder{ladder, rung};
    }
  } catch (const base::ConfigError&) {
    // This way of adding it makes no ladder; the caller tries another.
  }
  return std::nullopt;
}

std::string name_of_width(const Json& patch) {
  return "w" + std::to_string(patch.at(kWidth).get<int64_t>());
}

}  // namespace

std::optional<NextLadder> next_ladder(const LadderPlan& plan, const NextRung& wanted) {
  const PlannedRung* like = nearest_rung(plan, wanted.parameters);
  if (like == nullptr) return std::nullopt;
  const auto sized = patch_for(plan, *like, wanted.parameters);
  if (!sized) return std::nullopt;
  RungConfig rung{.name = name_of_width(sized->patch), .patch = sized->patch};
  const auto named = [&](const RungConfig& other) { return other.name == rung.name; };
  while (std::any_of(plan.ladder.rungs.begin(), plan.ladder.rungs.end(), named)) rung.name += "b";
  LadderConfig ladder = plan.ladder;
  // Variants stay at the sizes they were asked for.
  std::vector<std::string> known;
  for (const RungConfig& other : ladder.rungs) known.push_back(other.name);
  for (VariantConfig& variant : ladder.variants) {
    if (variant.rungs.empty()) variant.rungs = known;
  }
  if (!ladder.budgets.empty()) {
    for (FlopBudget& budget : ladder.budgets) {
      if (budget.rungs.empty()) budget.rungs = known;
    }
    ladder.budgets.push_back({.flops = wanted.flops, .held_out = true, .rungs = {rung.name}});
    ladder.rungs.push_back(rung);
    return planned(plan, *like, ladder, rung.name);
  }
  const double own_ratio = ladder.tokens_per_parameter;
  const bool follows =
      ladder.ratios.empty() && std::abs(wanted.tokens_per_parameter / own_ratio - 1) <= kSameRatio;
  if (!follows) rung.tokens_per_parameter = wanted.tokens_per_parameter;
  for (const bool held_out : {true, false}) {
    LadderConfig tried = ladder;
    rung.held_out = held_out;
    tried.rungs.push_back(rung);
    if (auto found = planned(plan, *like, tried, rung.name)) return found;
  }
  return std::nullopt;
}

std::optional<NextLadder> next_ladder(const LadderPlan& plan, const std::vector<NextRung>& wanted) {
  for (const NextRung& rung : wanted) {
    if (auto found = next_ladder(plan, rung)) return found;
  }
  return std::nullopt;
}

std::string ladder_yaml(const LadderConfig& ladder) {
  const Json defaults = base::to_json(LadderConfig{});
  const auto without_nulls = [](Json object) {
    for (auto item = object.begin(); item != object.end();) {
      const bool is_unset =
          item->is_null() || *item == false || (item->is_array() && item->empty());
      item = is_unset ? object.erase(item) : std::next(item);
    }
    return object;
  };
  // JSON is YAML in flow style, so values need no quoting rules of their own.
  std::string text = "ladder:\n";
  const Json document = base::to_json(ladder);
  for (const auto& [key, value] : document.items()) {
    if (value == defaults.at(key)) continue;
    if (!value.is_array() || value.empty() || !value.front().is_object()) {
      text += "  " + key + ": " + value.dump() + "\n";
      continue;
    }
    text += "  " + key + ":\n";
    for (const Json& item : value) text += "    - " + without_nulls(item).dump() + "\n";
  }
  return text;
}

RungForecast forecast_rung(const LawFit& fit, const PlannedRung& rung) {
  const auto parameters = static_cast<double>(rung.parameters_active);
  const auto tokens = static_cast<double>(rung.tokens);
  const Point point{parameters, tokens, rung.flops_six_nd, tokens};
  const PointForecast forecast = forecast_at(fit, point);
  return {.rung = rung.name,
          .law = fit.law,
          .rows = fit.diagnostics.rows,
          .parameters = parameters,
          .tokens = tokens,
          .flops = rung.flops_six_nd,
          .predicted = forecast.predicted,
          .interval = forecast.interval,
          .confidence = fit.options.confidence};
}

void store_rung_forecast(study::Journal& journal, const RungForecast& forecast) {
  Json list = journal.fact(kFact).value_or(Json::array());
  for (const Json& stored : list) {
    if (stored.at("rung") == forecast.rung) return;
  }
  list.push_back(base::to_json(forecast));
  journal.set_fact(kFact, list);
  journal.add_event("forecast", "rung " + forecast.rung + " is forecast to reach " +
                                    base::format_number(forecast.predicted, 5));
}

std::vector<RungForecast> rung_forecasts(const study::Journal& journal) {
  std::vector<RungForecast> forecasts;
  const auto stored = journal.fact(kFact);
  if (!stored) return forecasts;
  const auto plan = journal.fact("ladder.plan");
  LadderState state;
  if (plan) {
    state = ladder_state(base::from_trusted_json<LadderPlan>(*plan), records_in(journal));
  }
  for (const Json& item : *stored) {
    auto forecast = base::from_trusted_json<RungForecast>(item);
    for (const RungOutcome& rung : state.rungs) {
      if (rung.name != forecast.rung || rung.state != "done") continue;
      forecast.measured = rung.bits_per_byte;
      forecast.relative_error = *rung.bits_per_byte / forecast.predicted - 1;
      forecast.covered = forecast.interval.holds(*rung.bits_per_byte);
    }
    forecasts.push_back(forecast);
  }
  return forecasts;
}

std::string rung_forecasts_text(const std::vector<RungForecast>& forecasts) {
  if (forecasts.empty()) return "";
  std::vector<std::vector<std::string>> cells = {
      {"rung", "N", "D", "predicted", "interval", "measured", "error", ""}};
  const auto end = [](const std::optional<double>& value) {
    return value ? base::format_number(*value, 5) : std::string("open");
  };
  for (const RungForecast& forecast : forecasts) {
    cells.push_back(
        {forecast.rung, base::format_count(forecast.parameters),
         base::format_count(forecast.tokens), base::format_number(forecast.predicted, 5),
         "[" + end(forecast.interval.low) + ", " + end(forecast.interval.high) + "]",
         forecast.measured ? base::format_number(*forecast.measured, 5) : "-",
         forecast.relative_error ? fmt::format("{:+.2f} %", 100 * *forecast.relative_error) : "-",
         !forecast.covered   ? "not trained yet"
         : *forecast.covered ? "covered"
                             : "not covered"});
  }
  return "forecasts of planned rungs, made before they were trained\n" + base::format_table(cells);
}

}  // namespace windtunnel::scaling

#include "report/ladder_view.h"

#include <algorithm>
#include <map>

#include "report/wording.h"

namespace windtunnel::report {
namespace {

using base::Json;

std::optional<double> number_at(const Json& document, const std::string& path) {
  const Json* value = base::find_path(document, path);
  return value != nullptr && value->is_number() ? finite(value->get<double>()) : std::nullopt;
}

std::string text_at(const Json& document, const std::string& path) {
  const Json* value = base::find_path(document, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::optional<bool> flag_at(const Json& document, const std::string& path) {
  const Json* value = base::find_path(document, path);
  return value != nullptr && value->is_boolean() ? std::optional<bool>(value->get<bool>())
                                                 : std::nullopt;
}

/// The objects of the array at `path`; none if it is absent.
std::vector<Json> objects_at(const Json& document, const std::string& path) {
  std::vector<Json> objects;
  const Json* array = base::find_path(document, path);
  if (array == nullptr || !array->is_array()) return objects;
  for (const Json& item : *array) {
    if (item.is_object()) objects.push_back(item);
  }
  return objects;
}

std::vector<std::string> texts_at(const Json& document, const std::string& path) {
  std::vector<std::string> texts;
  const Json* array = base::find_path(document, path);
  if (array == nullptr || !array->is_array()) return texts;
  for (const Json& item : *array) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
  }
  return texts;
}

LawView law_of(const Json& fit) {
  LawView law;
  law.formula = text_at(fit, "formula");
  law.loss_unit = text_at(fit, "loss_unit");
  law.confidence = number_at(fit, "options.confidence");
  law.verdict = text_at(fit, "verdict.overall");
  const Json* parameters = base::find_path(fit, "parameters");
  const Json none = Json::object();
  for (const auto& [name, value] : (parameters != nullptr ? *parameters : none).items()) {
    const std::string verdict = "verdict.parameters." + name;
    law.parameters.push_back({.name = name,
                              .value = number_at(fit, "parameters." + name),
                              .low = number_at(fit, "intervals.profile." + name + ".low"),
                              .high = number_at(fit, "intervals.profile." + name + ".high"),
                              .verdict = text_at(fit, verdict + ".verdict"),
                              .reasons = texts_at(fit, verdict + ".reasons")});
  }
  for (const Json& point : objects_at(fit, "band")) {
    const auto flops = number_at(point, "flops");
    const auto predicted = number_at(point, "predicted");
    if (!flops || !predicted) continue;
    law.curve.push_back(
        {*flops, *predicted, number_at(point, "mean.low"), number_at(point, "mean.high")});
  }
  for (const std::string& bound : texts_at(fit, "diagnostics.bounds_hit")) {
    law.warnings.push_back("The fit ended at a bound: " + bound + ".");
  }
  for (const Json& left_out : objects_at(fit, "left_out")) {
    law.warnings.push_back("Left out of the fit: " + text_at(left_out, "name") + ", " +
                           text_at(left_out, "reason") + ".");
  }
  return law;
}

/// Of the fact "ladder.rungs", by name; null if it is not there yet.
Json outcome_of(const std::string& rung, const StudyData& data) {
  const Json* outcomes = data.fact("ladder.rungs");
  if (outcomes == nullptr || !outcomes->is_array()) return nullptr;
  for (const Json& outcome : *outcomes) {
    if (text_at(outcome, "name") == rung) return outcome;
  }
  return nullptr;
}

/// A run at the rate that its rung got; where no rung names its runs, by the run's own name:
/// "ladder-w24-s1" is of w24.
bool is_run_of(const std::string& run_id, const std::string& rung, const StudyData& data) {
  const std::vector<std::string> runs = texts_at(outcome_of(rung, data), "runs");
  if (!runs.empty()) return std::find(runs.begin(), runs.end(), run_id) != runs.end();
  const std::string prefix = "ladder-";
  const size_t end = run_id.rfind("-s");
  if (run_id.rfind(prefix, 0) != 0 || end == std::string::npos || end < prefix.size()) return false;
  return run_id.substr(prefix.size(), end - prefix.size()) == rung;
}

std::string state_of(const std::vector<const study::JournalRun*>& runs) {
  if (runs.empty()) return "planned";
  int64_t completed = 0;
  std::string other;
  for (const study::JournalRun* run : runs) {
    if (run->record && run->record->completed()) {
      ++completed;
    } else {
      const std::string name = run->record ? run->record->train.outcome : "not finished";
      other = name == study::outcome::kCompleted ? "trained, not scored" : words(name);
    }
  }
  const auto all = static_cast<int64_t>(runs.size());
  if (completed == all) return "completed";
  return other + (all > 1 ? " (" + std::to_string(completed) + " of " + std::to_string(all) +
                                " runs completed)"
                          : "");
}

RungView rung_view(const Json& rung, const StudyData& data) {
  RungView view{.name = text_at(rung, "name"),
                .is_held_out = flag_at(rung, "held_out").value_or(false),
                .base_rung = text_at(rung, "base_rung"),
                .parameters_active = number_at(rung, "parameters_active"),
                .tokens = number_at(rung, "tokens"),
                .flops = number_at(rung, "flops_six_nd"),
                .planned_seconds = number_at(rung, "expected_seconds")};
  const Json outcome = outcome_of(view.name, data);
  view.learning_rate = number_at(outcome, "learning_rate");
  view.rate_status = text_at(outcome, "rate_status");
  std::vector<const study::JournalRun*> runs;
  double sum = 0;
  double seconds = 0;
  int64_t timed = 0;
  for (const auto& run : data.runs) {
    if (!is_run_of(run.id, view.name, data)) continue;
    runs.push_back(&run);
    if (!run.record) continue;
    if (const auto value = finite(run.record->bits_per_byte())) {
      view.bits_per_byte_by_run.push_back(*value);
      sum += *value;
    }
    if (const auto training = finite(run.record->train.seconds.training)) {
      seconds += *training;
      ++timed;
    }
  }
  if (!view.bits_per_byte_by_run.empty()) {
    view.bits_per_byte = sum / static_cast<double>(view.bits_per_byte_by_run.size());
  }
  if (timed > 0) view.measured_seconds = seconds / static_cast<double>(timed);
  view.state = state_of(runs);
  return view;
}

/// Forecasts first; in the place of each one its outcomes, if there are any.
void add_forecasts(const Json& fit, const StudyData& data, LadderView& view) {
  const std::vector<Json> outcomes = objects_at(fit, "held_out");
  for (const Json& item : objects_at(fit, "forecasts")) {
    const HeldOutView forecast{.name = text_at(item, "name"),
                               .flops = number_at(item, "flops"),
                               .predicted = number_at(item, "predicted"),
                               .low = number_at(item, "interval.low"),
                               .high = number_at(item, "interval.high")};
    for (const Json& alternative : objects_at(item, "alternatives")) {
      view.alternatives.push_back({.forecast = forecast.name,
                                   .assumption = text_at(alternative, "assumption"),
                                   .predicted = number_at(alternative, "predicted")});
    }
    bool is_scored = false;
    for (const Json& outcome : outcomes) {
      const std::string run = text_at(outcome, "name");
      if (!is_run_of(run, forecast.name, data)) continue;
      HeldOutView scored = forecast;
      if (outcomes.size() > 1) scored.name = run;
      scored.measured = number_at(outcome, "measured");
      scored.relative_error = number_at(outcome, "relative_error");
      scored.covered = flag_at(outcome, "covered");
      view.held_out.push_back(scored);
      is_scored = true;
    }
    if (!is_scored) view.held_out.push_back(forecast);
  }
}

GainView gain_view(const Json& gain) {
  const std::vector<Json> sizes = objects_at(gain, "sizes");
  const Json largest = sizes.empty() ? Json() : sizes.back();
  return {.baseline = text_at(gain, "baseline"),
          .changed = text_at(gain, "changed"),
          .verdict = text_at(gain, "verdict"),
          .reasons = texts_at(gain, "reasons"),
          .rule = text_at(gain, "rule"),
          .slope = number_at(gain, "trend.slope"),
          .slope_low = number_at(gain, "trend.slope_interval.low"),
          .slope_high = number_at(gain, "trend.slope_interval.high"),
          .at_largest = number_at(gain, "trend.at_largest"),
          .at_largest_low = number_at(gain, "trend.at_largest_interval.low"),
          .at_largest_high = number_at(gain, "trend.at_largest_interval.high"),
          .compute_factor = number_at(largest, "compute_gain.factor"),
          .compute_low = number_at(largest, "compute_gain.interval.low"),
          .compute_high = number_at(largest, "compute_gain.interval.high")};
}

/// Rungs that were forecast before they were added to the ladder, with what their runs came to.
HeldOutView planned_view(const Json& forecast, const std::vector<RungView>& rungs) {
  HeldOutView view{.name = text_at(forecast, "rung"),
                   .flops = number_at(forecast, "flops"),
                   .predicted = number_at(forecast, "predicted"),
                   .low = number_at(forecast, "interval.low"),
                   .high = number_at(forecast, "interval.high")};
  const auto rung = std::find_if(rungs.begin(), rungs.end(), [&](const RungView& known) {
    return known.name == view.name && known.state == "completed";
  });
  if (rung == rungs.end() || !rung->bits_per_byte || !view.predicted) return view;
  view.measured = rung->bits_per_byte;
  view.relative_error = *view.measured / *view.predicted - 1;
  view.covered =
      !(view.low && *view.measured < *view.low) && !(view.high && *view.measured > *view.high);
  return view;
}

}  // namespace

LadderView ladder_view(const StudyData& data) {
  LadderView view;
  view.flops_convention = "6ND";
  if (const Json* plan = data.fact("ladder.plan")) {
    for (const Json& rung : objects_at(*plan, "rungs")) {
      view.rungs.push_back(rung_view(rung, data));
    }
  }
  if (const Json* pairs = data.fact("ladder.pairs"); pairs != nullptr && pairs->is_array()) {
    for (const Json& pair : *pairs) {
      view.pairs.push_back({.rung = text_at(pair, "rung"),
                            .base_rung = text_at(pair, "base_rung"),
                            .pairs = number_at(pair, "pairs"),
                            .difference = number_at(pair, "difference"),
                            .relative = number_at(pair, "relative"),
                            .standard_deviation = number_at(pair, "standard_deviation")});
    }
  }
  for (const char* name : {"ladder.gains", "plan.forecasts"}) {
    const Json* list = data.fact(name);
    if (list == nullptr || !list->is_array()) continue;
    for (const Json& item : *list) {
      if (name == std::string("ladder.gains")) {
        view.gains.push_back(gain_view(item));
      } else {
        view.planned.push_back(planned_view(item, view.rungs));
      }
    }
  }
  // The forecast is the fit without outcomes: what there is before the held-out size has run.
  const Json* fit = data.fact("fit") != nullptr ? data.fact("fit") : data.fact("ladder.forecast");
  if (fit == nullptr) return view;
  view.law = law_of(*fit);
  const std::string convention = text_at(*fit, "flops_convention");
  if (!convention.empty()) view.flops_convention = convention;
  add_forecasts(*fit, data, view);
  return view;
}

}  // namespace windtunnel::report

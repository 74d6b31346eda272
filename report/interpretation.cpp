#include "report/interpretation.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

using study::Decision;

/// Beyond this many pairs nobody would want to separate the difference.
constexpr double kAffordablePairs = 200;

std::string failures_text(const ExperimentView& view) {
  std::vector<std::string> parts;
  for (const auto& run : view.runs) {
    if (!run.record || run.record->completed()) continue;
    const study::TrainResult& train = run.record->train;
    // A training that completed without a score lost its evaluation.
    const std::string outcome =
        train.outcome == study::outcome::kCompleted ? "trained but not scored" : train.outcome;
    parts.push_back(run.id + " " + outcome +
                    (train.message.empty() ? "" : " (" + one_line(train.message) + ")"));
  }
  return base::join(parts, "; ");
}

std::string unresolved_text(const Decision& decision) {
  std::string text = "Noise can explain the difference: the interval holds 0.";
  const double size = std::abs(*decision.delta_bits_per_byte);
  const double half_width = (*decision.interval_high - *decision.interval_low) / 2;
  if (decision.pairs < 1 || size == 0 || half_width <= size) return text;
  const double pairs =
      std::ceil(static_cast<double>(decision.pairs) * std::pow(half_width / size, 2));
  return text + (pairs <= kAffordablePairs
                     ? fmt::format(" To separate one of this size takes about {:.0f} pairs.", pairs)
                     : " One of this size is too small to be worth separating.");
}

}  // namespace

std::string experiment_name(int64_t number) {
  return number == 0 ? "baseline" : "experiment " + std::to_string(number);
}

std::vector<std::string> patch_lines(const ExperimentView& view, const StudyData& data) {
  std::vector<std::string> lines;
  const ExperimentView* parent = data.find(view.experiment.parent);
  for (const auto& [path, value] : view.experiment.proposal.patch.items()) {
    const base::Json* before =
        parent == nullptr ? nullptr : base::find_path(parent->experiment.config, path);
    lines.push_back(one_line(path) + ": " +
                    (before == nullptr ? "" : value_text(*before) + " -> ") + value_text(value));
  }
  return lines;
}

std::string short_patch(const ExperimentView& view, const StudyData& data) {
  std::vector<std::string> parts;
  for (const std::string& line : patch_lines(view, data)) {
    const size_t dot = line.rfind('.', line.find(": "));
    parts.push_back(dot == std::string::npos ? line : line.substr(dot + 1));
  }
  return base::join(parts, "; ");
}

std::string prediction_text(const study::Prediction& prediction) {
  std::string text =
      fmt::format("{} bits per byte, 80 % interval {}", change(prediction.delta_bits_per_byte),
                  change_interval(prediction.interval_low, prediction.interval_high));
  if (const auto probability = finite(prediction.probability_kept)) {
    text += fmt::format(", kept with probability {:.2f}", *probability);
  }
  return text;
}

std::string observed_text(const ExperimentView& view) {
  if (!view.decided()) return "not measured yet";
  const Decision& decision = *view.experiment.decision;
  std::vector<std::string> parts;
  if (finite(decision.delta_bits_per_byte)) {
    std::string text = change(decision.delta_bits_per_byte) + " bits per byte";
    const auto interval = change_interval(decision.interval_low, decision.interval_high);
    if (interval != kMissing) text += " " + interval;
    parts.push_back(text + " over " + plural(decision.pairs, "pair"));
  }
  if (view.mean_bits_per_byte) parts.push_back("mean " + bits(view.mean_bits_per_byte));
  if (finite(decision.throughput_change)) {
    parts.push_back("tokens per second " + percent(decision.throughput_change, true));
  }
  if (const std::string failures = failures_text(view); !failures.empty()) {
    parts.push_back("runs without a score: " + failures);
  }
  if (!decision.observed.empty()) parts.push_back("diagnostic: " + one_line(decision.observed));
  return parts.empty() ? "nothing was measured" : base::join(parts, "; ");
}

std::string interpretation_text(const ExperimentView& view) {
  if (!view.decided()) return "Open.";
  const Decision& decision = *view.experiment.decision;
  if (decision.verdict == study::verdict::kVetoed) {
    return "Refused before it ran, so nothing was learned about the hypothesis.";
  }
  if (!finite(decision.delta_bits_per_byte)) {
    return "No comparison came about, so the hypothesis is neither supported nor refuted.";
  }
  std::string text;
  if (!finite(decision.interval_low) || !finite(decision.interval_high)) {
    text = "There is no interval, so noise cannot be told from an effect.";
  } else if (*decision.interval_high < 0) {
    text = "Better by more than noise explains: the whole interval lies below 0.";
  } else if (*decision.interval_low > 0) {
    text = "Worse by more than noise explains: the whole interval lies above 0.";
  } else {
    text = unresolved_text(decision);
  }
  if (decision.verdict == study::verdict::kRepair) {
    text += " A router collapsed, so the gain does not count until that is repaired.";
  }
  return text;
}

std::string agreement_text(const ExperimentView& view) {
  if (!view.decided() || !finite(view.experiment.decision->delta_bits_per_byte)) {
    return "Cannot be scored without a measured difference.";
  }
  const double measured = *view.experiment.decision->delta_bits_per_byte;
  const study::Prediction& predicted = view.experiment.proposal.prediction;
  const auto covered = view.experiment.decision->prediction_covered;
  std::string text = !covered   ? "Whether the predicted interval holds the measured change was "
                                  "not recorded"
                     : *covered ? "The predicted interval holds the measured change"
                                : "The predicted interval misses the measured change";
  const double error = measured - predicted.delta_bits_per_byte;
  text += fmt::format("; it came out {} {} than the point prediction", bits(std::abs(error)),
                      error < 0 ? "better" : "worse");
  const bool same_sign = (measured < 0) == (predicted.delta_bits_per_byte < 0);
  return text + (same_sign ? ", with the sign as predicted." : ", with the opposite sign.");
}

std::string parts_text(const Decision& decision) {
  std::vector<std::string> parts;
  for (const study::Part& part : decision.parts) {
    parts.push_back(part.name + " " + change(part.delta_bits_per_byte) + " " +
                    change_interval(part.interval_low, part.interval_high));
  }
  return base::join(parts, "; ");
}

std::string reflection_text(const study::Reflection& reflection) {
  std::vector<std::string> parts;
  if (!reflection.agreement.empty())
    parts.push_back("agreement: " + one_line(reflection.agreement));
  if (!reflection.interpretation.empty()) parts.push_back(one_line(reflection.interpretation));
  if (!reflection.next.empty()) parts.push_back("next: " + one_line(reflection.next));
  return base::join(parts, "; ");
}

std::string decision_text(const ExperimentView& view) {
  if (!view.decided()) return "pending";
  const Decision& decision = *view.experiment.decision;
  return decision.verdict + (decision.reason.empty() ? "" : ": " + one_line(decision.reason));
}

std::string next_text(const ExperimentView& view, const StudyData& data) {
  if (!view.decided()) return "Its runs are finished first.";
  const std::string verdict = view.verdict();
  const std::string stays = "The incumbent stays " + experiment_name(view.experiment.parent) + ".";
  std::vector<std::string> follow_ups;
  for (const auto& other : data.experiments) {
    if (other.experiment.about == view.experiment.number) {
      follow_ups.push_back(fmt::format("{} in experiment {}", other.experiment.proposal.kind,
                                       other.experiment.number));
    }
  }
  if (!study::may_be_kept(view.experiment.proposal.kind)) {
    return fmt::format("It says something about {}; nothing is kept by it.",
                       view.experiment.about == 0 ? std::string("the change")
                                                  : experiment_name(view.experiment.about));
  }
  const std::string checked =
      follow_ups.empty() ? "" : " Followed up: " + base::join(follow_ups, ", ") + ".";
  if (verdict == study::verdict::kKeep) {
    if (!view.experiment.doubt.empty()) return stays + checked;
    std::vector<std::string> children;
    for (const auto& other : data.experiments) {
      if (other.experiment.parent == view.experiment.number && other.experiment.about == 0) {
        children.push_back(std::to_string(other.experiment.number));
      }
    }
    return (children.empty()
                ? "It is the incumbent."
                : "It became the incumbent; built on it: " + base::join(children, ", ") + ".") +
           checked;
  }
  if (verdict == study::verdict::kRepair) {
    return stays + (checked.empty() ? " Worth proposing again with the router kept from collapsing."
                                    : checked);
  }
  if (verdict == study::verdict::kFailed && !view.runs.empty()) {
    return stays + " What the run printed is in runs/" + view.runs.front().id + "/stdout.log." +
           checked;
  }
  return stays;
}

}  // namespace windtunnel::report

#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/bests.h"
#include "report/ladder_view.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

std::string counts_sentence(const StudyData& data) {
  const VerdictCounts counts = verdict_counts(data);
  if (counts.proposed == 0) return "No experiment has been proposed yet.";
  std::vector<std::string> parts;
  const std::pair<int64_t, const char*> named[] = {
      {counts.kept, "kept"},     {counts.discarded, "discarded"}, {counts.repair, "to repair"},
      {counts.failed, "failed"}, {counts.vetoed, "vetoed"},       {counts.pending, "still open"}};
  for (const auto& [amount, name] : named) {
    if (amount > 0) parts.push_back(std::to_string(amount) + " " + name);
  }
  return plural(counts.proposed, "experiment") + ": " + base::join(parts, ", ") + ".";
}

std::string best_sentence(const StudyData& data) {
  const std::vector<Best> steps = bests(data);
  if (steps.empty()) return "";
  const Best& best = steps.back();
  if (best.experiment == 0) {
    return fmt::format("The baseline, at {} validation bits per byte, is still the best.",
                       bits(best.bits_per_byte));
  }
  return fmt::format(
      "The best configuration is that of experiment {}: its runs average {} validation bits per "
      "byte against {} of the baseline, and paired by seed it is {} better.",
      best.experiment, bits(data.find(best.experiment)->mean_bits_per_byte),
      bits(data.baseline.mean_bits_per_byte), percent(best.cumulative_gain));
}

std::string noise_sentence(const StudyData& data) {
  const auto noise = data.noise_bits_per_byte();
  if (!noise) return "";
  std::string text = fmt::format(
      "Runs that differ in nothing but the seed scatter with a standard deviation of {} bits per "
      "byte",
      bits(noise));
  if (data.baseline.level) text += " (" + percent(*noise / *data.baseline.level) + ")";
  return text + "; a change was kept only where that cannot explain it.";
}

std::string forecast_sentence(const StudyData& data) {
  const study::Calibration total = data.calibration.front();
  if (total.measured == 0) return "";
  return fmt::format(
      "Of {} with a prediction and a measured outcome, {} lay inside the predicted 80 % interval.",
      plural(total.measured, "experiment"), total.covered);
}

std::string abort_sentence(const StudyData& data) {
  const study::AbortAudit& audit = data.abort_audit;
  if (audit.aborted + audit.audited == 0) return "";
  std::string text = plural(audit.aborted, "experiment") + " given up early";
  if (audit.audited == 0) return text + "; how often that was wrong was not measured.";
  return text + fmt::format("; of {} more that ran on although the rule had spoken, {} kept.",
                            audit.audited,
                            audit.audited_and_kept == 1
                                ? "1 was"
                                : std::to_string(audit.audited_and_kept) + " were");
}

/// Of a study that is a ladder and nothing else.
bool is_ladder_only(const StudyData& data, const LadderView& ladder) {
  return data.experiments.empty() && !data.baseline.level && !ladder.rungs.empty();
}

struct RungCount {
  int64_t all = 0;
  int64_t completed = 0;
  int64_t held_out = 0;
};

RungCount count_rungs(const LadderView& ladder) {
  RungCount count{.all = static_cast<int64_t>(ladder.rungs.size())};
  for (const RungView& rung : ladder.rungs) {
    if (rung.state == "completed") ++count.completed;
    if (rung.is_held_out) ++count.held_out;
  }
  return count;
}

std::string ladder_sentence(const LadderView& ladder) {
  const RungCount count = count_rungs(ladder);
  return fmt::format("A ladder of {}, {} held out: {} of them completed.",
                     plural(count.all, "rung"), count.held_out, count.completed);
}

std::string law_sentence(const LadderView& ladder) {
  if (!ladder.law) return "";
  std::vector<std::string> parameters;
  for (const LawParameter& parameter : ladder.law->parameters) {
    parameters.push_back(parameter.name + " = " + number(parameter.value));
  }
  std::string text = "The fitted law is " + one_line(ladder.law->formula);
  if (!parameters.empty()) text += " with " + base::join(parameters, ", ");
  std::vector<std::string> open;
  for (const LawParameter& parameter : ladder.law->parameters) {
    if (parameter.verdict == "refused") open.push_back(parameter.name);
  }
  if (!open.empty()) {
    text += "; these runs do not identify " + base::join(open, ", ");
  } else if (ladder.law->verdict == "weak") {
    text += "; these runs identify it only weakly";
  } else if (ladder.law->verdict == "identified") {
    text += "; these runs identify it";
  }
  return text + ".";
}

std::string held_out_sentence(const HeldOutView& held_out) {
  std::string text =
      fmt::format("The held-out size {} was predicted at {} {}", one_line(held_out.name),
                  bits(held_out.predicted), bits_interval(held_out.low, held_out.high));
  if (!held_out.measured) return text + " and is not measured yet.";
  text += " and measured at " + bits(held_out.measured);
  if (held_out.relative_error) {
    text += ", " + percent(held_out.relative_error, true) + " from the forecast";
  }
  if (held_out.covered) {
    text += *held_out.covered ? "; the interval held it" : "; the interval missed it";
  }
  return text + ".";
}

std::string stop_sentence(const StudyData& data) {
  const base::Json* stop = data.fact("night.stop");
  if (stop == nullptr) return "The night of research has not ended yet.";
  const base::Json* reason = stop->is_object() ? base::find_path(*stop, "reason") : stop;
  if (reason == nullptr || !reason->is_string()) return "The night of research has ended.";
  return "The night ended: " + words(reason->get<std::string>()) + ".";
}

}  // namespace

VerdictCounts verdict_counts(const StudyData& data) {
  VerdictCounts counts;
  for (const auto& view : data.experiments) {
    const std::string verdict = view.verdict();
    ++counts.proposed;
    if (verdict == study::verdict::kKeep) ++counts.kept;
    if (verdict == study::verdict::kDiscard) ++counts.discarded;
    if (verdict == study::verdict::kRepair) ++counts.repair;
    if (verdict == study::verdict::kFailed) ++counts.failed;
    if (verdict == study::verdict::kVetoed) ++counts.vetoed;
    if (!view.decided()) ++counts.pending;
  }
  return counts;
}

std::vector<std::string> summary_sentences(const StudyData& data) {
  std::vector<std::string> sentences;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  const LadderView ladder = ladder_view(data);
  if (is_ladder_only(data, ladder)) {
    add(ladder_sentence(ladder));
  } else {
    add(best_sentence(data));
    add(counts_sentence(data));
    add(stop_sentence(data));
  }
  add(noise_sentence(data));
  add(forecast_sentence(data));
  add(abort_sentence(data));
  add(law_sentence(ladder));
  for (const HeldOutView& held_out : ladder.held_out) add(held_out_sentence(held_out));
  return sentences;
}

std::vector<KeyFigure> key_figures(const StudyData& data) {
  const std::vector<Best> steps = bests(data);
  const VerdictCounts counts = verdict_counts(data);
  const LadderView ladder = ladder_view(data);
  const study::Calibration total = data.calibration.front();
  const HeldOutView held_out = ladder.held_out.empty() ? HeldOutView{} : ladder.held_out.back();
  const KeyFigure held_out_error{"Held-out error", percent(held_out.relative_error, true),
                                 !held_out.covered   ? "measured against forecast"
                                 : *held_out.covered ? "inside the interval"
                                                     : "outside the interval"};
  if (is_ladder_only(data, ladder)) {
    const RungCount rungs = count_rungs(ladder);
    std::optional<double> flops, loss;
    for (const RungView& rung : ladder.rungs) {
      if (!rung.bits_per_byte || (flops && rung.flops.value_or(0) <= *flops)) continue;
      flops = rung.flops;
      loss = rung.bits_per_byte;
    }
    return {
        {"Rungs completed", fmt::format("{} of {}", rungs.completed, rungs.all), "of the ladder"},
        {"Largest compute", number(flops, 3), "FLOPs, " + ladder.flops_convention},
        {"Bits per byte there", bits(loss), "of the largest rung that completed"},
        held_out_error};
  }
  std::vector<KeyFigure> figures;
  figures.push_back(
      {"Best bits per byte",
       steps.empty() ? kMissing : bits(data.find(steps.back().experiment)->mean_bits_per_byte),
       steps.empty() ? "no baseline yet" : "baseline " + bits(data.baseline.mean_bits_per_byte)});
  figures.push_back(
      {"Gain over baseline",
       steps.empty() ? kMissing : percent(steps.back().cumulative_gain.value_or(0)),
       "relative, over " +
           plural(static_cast<int64_t>(std::max<size_t>(steps.size(), 1) - 1), "step")});
  figures.push_back({"Kept", fmt::format("{} of {}", counts.kept, counts.proposed - counts.pending),
                     "experiments decided"});
  figures.push_back(
      {"Noise of one run", bits(data.noise_bits_per_byte()), "standard deviation, bits per byte"});
  const bool is_scored = total.measured > 0;
  figures.push_back({"Forecasts inside",
                     is_scored ? fmt::format("{} of {}", total.covered, total.measured) : kMissing,
                     "80 % intervals"});
  figures.push_back(held_out_error);
  return figures;
}

}  // namespace windtunnel::report

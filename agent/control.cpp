#include "agent/control.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/text.h"
#include "study/curve_file.h"

namespace windtunnel::agent {

using study::Decision;
using study::Experiment;
using study::Part;

namespace {

Part part(std::string name, const Difference& difference) {
  return {.name = std::move(name),
          .delta_bits_per_byte = difference.delta_bits_per_byte,
          .interval_low = difference.interval_low,
          .interval_high = difference.interval_high};
}

std::string text_of(const Part& part) {
  if (!part.interval_low || !part.interval_high) {
    return fmt::format("{} {:+.4f}", part.name, part.delta_bits_per_byte);
  }
  return fmt::format("{} {:+.4f} [{:+.4f}, {:+.4f}]", part.name, part.delta_bits_per_byte,
                     *part.interval_low, *part.interval_high);
}

Decision decision_of(const Experiment& experiment, const std::vector<Pair>& pairs,
                     const Difference& difference) {
  Decision decision;
  decision.verdict = study::verdict::kControl;
  decision.delta_bits_per_byte = difference.delta_bits_per_byte;
  decision.interval_low = difference.interval_low;
  decision.interval_high = difference.interval_high;
  decision.standard_error_bits_per_byte = difference.standard_error;
  decision.pairs = std::ssize(pairs);
  for (const Pair& pair : pairs) decision.seeds.push_back(pair.candidate.seed);
  const study::Prediction& predicted = experiment.proposal.prediction;
  decision.prediction_covered = predicted.interval_low <= difference.delta_bits_per_byte &&
                                difference.delta_bits_per_byte <= predicted.interval_high;
  decision.agreement = agreement(predicted, difference.delta_bits_per_byte);
  decision.throughput_change = throughput_change(pairs);
  decision.observed = observed_figures(pairs);
  return decision;
}

/// The same but for the budget, which a matched-step control replaces.
void require_comparable_but_for_budget(const Trial& trial, const Pair& pair) {
  study::RunConfig config = trial.candidate;
  config.train.budget = trial.reference.train.budget;
  study::RunRecord candidate = pair.candidate;
  candidate.comparability_key = study::comparability_key(config, pair.candidate.data_fingerprint,
                                                         pair.candidate.code_version);
  require_comparable(candidate, pair.incumbent);
}

Decision decide_matched_steps(const Experiment& experiment, const Trial& trial,
                              const std::vector<Pair>& pairs, const NightState& state) {
  const Noise noise = state.noise();
  std::vector<Pair> speed_pairs;
  for (const Pair& pair : pairs) {
    require_comparable_but_for_budget(trial, pair);
    const study::JournalRun* timed = state.find_run(run_id(experiment.about, pair.candidate.seed));
    speed_pairs.push_back({.candidate = *timed->record, .incumbent = pair.candidate});
  }
  const Difference learning = paired_difference(pairs, noise);
  const Difference speed = paired_difference(speed_pairs, noise);
  Decision decision = decision_of(experiment, pairs, learning);
  decision.parts = {part("learning", learning), part("speed", speed)};
  decision.reason = fmt::format(
      "of the {:+.4f} bits per byte of experiment {} over the same seeds: {}, {} (80 %)",
      learning.delta_bits_per_byte + speed.delta_bits_per_byte, experiment.about,
      text_of(decision.parts[0]), text_of(decision.parts[1]));
  return decision;
}

Decision decide_factor(const Experiment& experiment, const std::vector<Pair>& pairs,
                       const NightState& state) {
  for (const Pair& pair : pairs) require_comparable(pair.candidate, pair.incumbent);
  const Difference alone = paired_difference(pairs, state.noise());
  const double whole = *state.experiment(experiment.about).decision->delta_bits_per_byte;
  Decision decision = decision_of(experiment, pairs, alone);
  decision.parts = {part(experiment.proposal.patch.begin().key(), alone)};
  decision.reason =
      fmt::format("{} (80 %) alone, of {:+.4f} bits per byte for all that experiment {} changed",
                  text_of(decision.parts[0]), whole, experiment.about);
  return decision;
}

Decision decide_scale(const Experiment& experiment, const std::vector<Pair>& pairs,
                      const NightState& state, const Program& program) {
  for (const Pair& pair : pairs) require_comparable(pair.candidate, pair.incumbent);
  const Experiment& about = state.experiment(experiment.about);
  const Difference here = paired_difference(pairs, state.noise());
  const auto size = [](int64_t parameters) {
    return "N = " + base::format_count(static_cast<double>(parameters));
  };
  const auto parameters_of = [&](int64_t number) {
    for (const study::JournalRun* run : state.runs_of(number)) {
      if (run->record && run->record->completed()) return run->record->parameters_active;
    }
    return int64_t{0};
  };
  const int64_t n_before = parameters_of(about.number);
  const int64_t n_here = pairs.front().candidate.parameters_active;
  Part before{.name = size(n_before),
              .delta_bits_per_byte = about.decision->expected_delta_bits_per_byte.value_or(
                  *about.decision->delta_bits_per_byte),
              .interval_low = about.decision->interval_low,
              .interval_high = about.decision->interval_high};
  Decision decision = decision_of(experiment, pairs, here);
  decision.parts = {before, part(size(n_here), here)};
  const double upper = upper_end(here, program.scale.confidence);
  const bool holds = upper < 0;
  decision.verdict = holds ? study::verdict::kScaleCandidate : study::verdict::kControl;
  std::string trend;
  if (n_before > 0 && n_here > 0 && n_before != n_here) {
    const double slope = (here.delta_bits_per_byte - before.delta_bits_per_byte) /
                         std::log(static_cast<double>(n_here) / static_cast<double>(n_before));
    trend = fmt::format("; {:+.4f} for each e-fold of N, so it {} with size", slope,
                        slope < 0 ? "grows" : "shrinks");
  }
  decision.reason = fmt::format(
      "{}, {} (80 %){}: at the other size it is {} 0 with confidence {:.0f} % (upper end {:+.4f})",
      text_of(decision.parts[0]), text_of(decision.parts[1]), trend, holds ? "below" : "not below",
      100 * program.scale.confidence, upper);
  return decision;
}

/// The last value of each figure of a curve.
std::map<std::string, double> last_figures(const std::vector<study::CurvePoint>& curve) {
  std::map<std::string, double> figures;
  double norm = 0;
  int64_t norms = 0;
  for (const study::CurvePoint& point : curve) {
    if (point.gradient_norm) {
      norm += *point.gradient_norm;
      ++norms;
    }
    for (const study::LayerPoint& layer : point.layers) {
      for (const auto& [name, value] : layer.figures) {
        figures[fmt::format("layer {} {}", layer.position, name)] = value;
      }
    }
  }
  if (norms > 0) figures["mean gradient norm"] = norm / static_cast<double>(norms);
  return figures;
}

Decision decide_diagnostic(const Experiment& experiment, const std::vector<Pair>& pairs,
                           const NightState& state, const std::filesystem::path& study) {
  for (const Pair& pair : pairs) require_comparable(pair.candidate, pair.incumbent);
  const Difference difference = paired_difference(pairs, state.noise());
  Decision decision = decision_of(experiment, pairs, difference);
  const auto figures_of = [&](const study::RunRecord& record) {
    return last_figures(study::read_curve(study / "runs" / record.id / "curve.jsonl"));
  };
  const auto candidate = figures_of(pairs.front().candidate);
  const auto incumbent = figures_of(pairs.front().incumbent);
  for (const auto& [name, value] : candidate) {
    const auto other = incumbent.find(name);
    decision.observed += "; " + name + " " + base::format_number(value, 4);
    if (other != incumbent.end()) {
      decision.observed += " against " + base::format_number(other->second, 4);
    }
  }
  decision.reason = fmt::format("a diagnostic run: {:+.4f} bits per byte [{:+.4f}, {:+.4f}] (80 %)",
                                difference.delta_bits_per_byte, difference.interval_low,
                                difference.interval_high);
  return decision;
}

}  // namespace

Decision decide_control(const Experiment& experiment, const Trial& trial,
                        const std::vector<Pair>& pairs, const NightState& state,
                        const Program& program, const std::filesystem::path& study) {
  const std::string& kind = experiment.proposal.kind;
  if (kind == study::kind::kMatchedSteps) {
    return decide_matched_steps(experiment, trial, pairs, state);
  }
  if (kind == study::kind::kFactor) return decide_factor(experiment, pairs, state);
  if (kind == study::kind::kScale) return decide_scale(experiment, pairs, state, program);
  return decide_diagnostic(experiment, pairs, state, study);
}

}  // namespace windtunnel::agent

#include "agent/follow_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "agent/forecast.h"
#include "agent/research_space.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;
using study::Decision;
using study::Experiment;

namespace {

/// What a repair changes, along the first of these paths that the program lets be set.
struct Cure {
  const char* path;
  double factor;
};
// A router that collapsed needs more pressure towards balance; a run that diverged, smaller steps.
constexpr Cure kRouterCures[] = {{"model.layers.E.router.softmax.load_balance", 4},
                                 {"model.layers.E.router.sigmoid.load_balance", 4},
                                 {"model.layers.E.router.sigmoid.bias_step", 4},
                                 {"train.optimizer.learning_rate", 0.5}};
constexpr Cure kDivergenceCures[] = {{"train.optimizer.learning_rate", 1.0 / 3},
                                     {"train.optimizer.gradient_clip_norm", 0.5}};

/// The candidate's patch with the first cure that is legal and changes something.
template <size_t N>
std::optional<Json> cured_patch(const Experiment& experiment, const Cure (&cures)[N],
                                const Program& program) {
  for (const Cure& cure : cures) {
    const MutablePath* entry = find_mutable(program, cure.path);
    const Json* value = base::find_path(experiment.config, cure.path);
    if (!entry || !entry->has_range() || !value || !value->is_number()) continue;
    const double now = value->get<double>();
    const double cured = std::clamp(now * cure.factor, *entry->minimum, *entry->maximum);
    if (cured == now) continue;
    Json patch = experiment.proposal.patch;
    patch[cure.path] = cured;
    return patch;
  }
  return std::nullopt;
}

std::optional<Json> repaired_patch(const Experiment& experiment, const Decision& decision,
                                   const Program& program) {
  if (experiment.config.is_null()) return std::nullopt;
  return decision.verdict == study::verdict::kRepair
             ? cured_patch(experiment, kRouterCures, program)
             : cured_patch(experiment, kDivergenceCures, program);
}

bool diverged(const Decision& decision) {
  return decision.verdict == study::verdict::kFailed &&
         decision.reason.find(" ended as diverged") != std::string::npos;
}

Experiment follow_up(const Experiment& about, const char* kind, Json patch) {
  Experiment next;
  next.parent = about.parent;
  next.about = about.number;
  next.thread = about.thread;
  next.proposal.kind = kind;
  next.proposal.patch = std::move(patch);
  next.proposal.family = study::family_of(about.proposal);
  next.proposal.proposer = "harness";
  return next;
}

std::string change_text(const Json& patch) {
  std::vector<std::string> parts;
  for (const auto& [path, value] : patch.items()) parts.push_back(path + " = " + value.dump());
  return base::join(parts, ", ");
}

/// Expects what was measured, with the error of that measurement.
study::Prediction as_measured(const Decision& decision, double share) {
  const double delta = share * decision.delta_bits_per_byte.value_or(0);
  const double reach =
      kHalfInterval * decision.standard_error_bits_per_byte.value_or(0) * std::sqrt(2.0);
  return {.delta_bits_per_byte = delta,
          .interval_low = delta - reach,
          .interval_high = delta + reach,
          .probability_kept = std::nullopt,
          .throughput_change = std::nullopt};
}

double mean_steps(const NightState& state, const Experiment& about) {
  double sum = 0;
  int64_t count = 0;
  for (const study::JournalRun* run : state.runs_of(about.parent)) {
    const auto& seeds = about.decision->seeds;
    if (!run->record || !run->record->train.steps ||
        std::find(seeds.begin(), seeds.end(), run->seed) == seeds.end()) {
      continue;
    }
    sum += static_cast<double>(*run->record->train.steps);
    ++count;
  }
  return count == 0 ? 0.0 : std::round(sum / static_cast<double>(count));
}

Experiment repair_of(const Experiment& about, const NightState& state, const Program& program) {
  const Decision& decision = *about.decision;
  Experiment next =
      follow_up(about, study::kind::kRepair, *repaired_patch(about, decision, program));
  next.parent = state.incumbent();
  const Candidate candidate =
      make_candidate(program, state.config_of(next.parent), next.proposal.patch);
  next.config = candidate.resolved;
  next.config_fingerprint = candidate.fingerprint;
  next.proposal.hypothesis = fmt::format(
      "Experiment {} was unfit ({}); {} should cure that and leave what is good about it.",
      about.number, base::shorten(decision.reason, 160), change_text(next.proposal.patch));
  std::vector<std::string> paths;
  for (const auto& [path, value] : next.proposal.patch.items()) paths.push_back(path);
  next.proposal.prediction =
      decision.delta_bits_per_byte
          ? as_measured(decision, 0.5)
          : forecast(state.experiments(), paths, state.noise().run_sd, program.decision);
  next.proposal.diagnostic = "The figure that made it unfit, against its limit.";
  return next;
}

Experiment matched_steps_of(const Experiment& about, const NightState& state) {
  Experiment next = follow_up(about, study::kind::kMatchedSteps, about.proposal.patch);
  next.config = about.config;
  next.config["train"]["budget"] = {{"kind", "steps"}, {"amount", mean_steps(state, about)}};
  next.config_fingerprint =
      study::config_fingerprint(base::from_trusted_json<study::RunConfig>(next.config));
  const double change = about.decision->throughput_change.value_or(0);
  next.proposal.hypothesis = fmt::format(
      "Experiment {} changed tokens per second by {:+.1f} %: at its incumbent's {:.0f} steps it "
      "shows what it learns from a step.",
      about.number, 100 * change, next.config["train"]["budget"]["amount"].get<double>());
  next.proposal.prediction = as_measured(*about.decision, change > 0 ? 0.5 : 1.5);
  next.proposal.diagnostic = "Bits per byte at equal steps; no gain there means that it is speed.";
  return next;
}

std::optional<Experiment> factor_of(const Experiment& about, const std::string& path,
                                    const NightState& state, const Program& program) {
  const Json patch = {{path, about.proposal.patch.at(path)}};
  const Candidate candidate = make_candidate(program, state.config_of(about.parent), patch);
  Experiment next = follow_up(about, study::kind::kFactor, patch);
  next.config = candidate.resolved;
  next.config_fingerprint = candidate.fingerprint;
  next.proposal.hypothesis =
      fmt::format("{} alone, of the {} changes that experiment {} made at once.",
                  change_text(patch), about.proposal.patch.size(), about.number);
  next.proposal.prediction =
      as_measured(*about.decision, 1 / static_cast<double>(about.proposal.patch.size()));
  next.proposal.diagnostic = "Its part of the gain.";
  return next;
}

Experiment scale_of(const Experiment& about, const NightState& state, const Program& program) {
  const Candidate candidate =
      make_candidate(program, state.config_of(about.number), program.scale.patch);
  Experiment next = follow_up(about, study::kind::kScale, about.proposal.patch);
  next.config = candidate.resolved;
  next.config_fingerprint = candidate.fingerprint;
  next.proposal.hypothesis = fmt::format("The gain of experiment {} holds at {}.", about.number,
                                         change_text(program.scale.patch));
  next.proposal.prediction = as_measured(*about.decision, 1);
  next.proposal.diagnostic = "The gain at both sizes and how it moves with the logarithm of size.";
  return next;
}

/// The next missing follow-up of one experiment.
std::optional<Experiment> missing_follow_up(const Experiment& about, const NightState& state,
                                            const Program& program) {
  const auto exists = [&](const std::string& kind, const Json& patch) {
    return std::any_of(state.experiments().begin() + static_cast<std::ptrdiff_t>(about.number),
                       state.experiments().end(), [&](const Experiment& other) {
                         return other.about == about.number && other.proposal.kind == kind &&
                                (patch.is_null() || other.proposal.patch == patch);
                       });
  };
  for (const std::string& kind : about.decision->next) {
    if (kind == study::kind::kRepair) {
      if (!exists(kind, nullptr)) return repair_of(about, state, program);
    } else if (!about.doubt.empty()) {
      continue;  // its gain is not believed: nothing to take apart
    } else if (kind == study::kind::kFactor) {
      for (const auto& [path, value] : about.proposal.patch.items()) {
        if (!exists(kind, Json{{path, value}})) return factor_of(about, path, state, program);
      }
    } else if (!exists(kind, nullptr)) {
      return kind == study::kind::kScale ? scale_of(about, state, program)
                                         : matched_steps_of(about, state);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> next_of(const Experiment& experiment, const Decision& decision,
                                 const Program& program) {
  std::vector<std::string> next;
  const std::string& kind = experiment.proposal.kind;
  if (!study::may_be_kept(kind)) return next;
  const Controls& controls = program.controls;
  if (decision.verdict == study::verdict::kRepair || diverged(decision)) {
    // One attempt: a repair that is unfit too is left alone.
    if (controls.repair && kind == study::kind::kIdea &&
        repaired_patch(experiment, decision, program)) {
      next.emplace_back(study::kind::kRepair);
    }
    return next;
  }
  if (decision.verdict != study::verdict::kKeep) return next;
  const Json* budget = base::find_path(experiment.config, "train.budget.kind");
  if (controls.matched_steps_above > 0 && budget && *budget == "seconds" &&
      std::abs(decision.throughput_change.value_or(0)) > controls.matched_steps_above) {
    next.emplace_back(study::kind::kMatchedSteps);
  }
  if (controls.factors && experiment.proposal.patch.size() > 1) {
    next.emplace_back(study::kind::kFactor);
  }
  if (program.scale.is_on()) next.emplace_back(study::kind::kScale);
  return next;
}

std::optional<Experiment> next_follow_up(const NightState& state, const Program& program) {
  // Follow-ups come before the next idea, so only the last thread can lack one.
  const auto& experiments = state.experiments();
  if (experiments.empty()) return std::nullopt;
  const int64_t thread = experiments.back().thread;
  for (auto number = static_cast<size_t>(thread); number <= experiments.size(); ++number) {
    const Experiment& about = experiments[number - 1];
    if (about.thread != thread || !about.decision) continue;
    if (auto next = missing_follow_up(about, state, program)) return next;
  }
  return std::nullopt;
}

}  // namespace windtunnel::agent

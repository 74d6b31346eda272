#include "agent/explanation.h"

#include <fmt/format.h>

#include "agent/decision.h"
#include "agent/facts.h"
#include "agent/night_state.h"
#include "agent/trial.h"
#include "base/error.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;
using study::Experiment;

namespace {

Experiment experiment_of(const study::Journal& journal, int64_t number) {
  auto experiment = journal.experiment(number);
  if (experiment) return *experiment;
  throw base::Error("the study has no experiment " + std::to_string(number) +
                    "; windtunnel log STUDY lists them");
}

/// The test as it was planned: looks, levels, the share of the night's error that it could use.
Json test_json(const study::Journal& journal, const Experiment& experiment) {
  const auto program = journal.fact(fact::kProgram);
  const auto baseline = journal.fact(fact::kBaseline);
  if (!program || !baseline || !study::may_be_kept(experiment.proposal.kind) ||
      experiment.config.is_null()) {
    return nullptr;
  }
  const Program rules = stored_program(*program, {});
  const NightState state(rules, journal, baseline->at("config"));
  const Trial trial = trial_of(experiment, state, rules);
  if (!trial.test) return nullptr;
  const std::vector<Experiment> history = state.history_before(experiment.number);
  return {{"looks", trial.test->looks},
          {"levels", trial.test->levels},
          {"minimum_gain", trial.test->minimum_gain},
          {"seed_share", trial.test->seed_share},
          {"incumbent_runs", trial.test->incumbent_runs},
          {"share_of_error", next_share(history, rules.decision, rules.night.experiments)},
          {"confidence_of_night", rules.decision.confidence}};
}

Json pairs_json(const study::Journal& journal, const Experiment& experiment) {
  Json pairs = Json::array();
  if (!experiment.decision) return pairs;
  for (const int64_t seed : experiment.decision->seeds) {
    const auto candidate = journal.run(run_id(experiment.number, seed));
    auto reference = journal.run(run_id(experiment.number, seed, true));
    if (!reference) reference = journal.run(run_id(experiment.parent, seed));
    const auto value = [](const std::optional<study::JournalRun>& run) -> Json {
      if (!run || !run->record || !run->record->completed()) return nullptr;
      return *run->record->bits_per_byte();
    };
    pairs.push_back(
        {{"seed", seed}, {"candidate", value(candidate)}, {"incumbent", value(reference)}});
  }
  return pairs;
}

}  // namespace

Json experiment_json(const Experiment& experiment) {
  return {{"number", experiment.number},
          {"kind", experiment.proposal.kind},
          {"thread", experiment.thread},
          {"parent", experiment.parent},
          {"about", experiment.about},
          {"state", experiment.state},
          {"proposal", base::to_json(experiment.proposal)},
          {"decision", experiment.decision ? base::to_json(*experiment.decision) : Json()},
          {"doubt", experiment.doubt.empty() ? Json() : Json(experiment.doubt)}};
}

Json explanation(const study::Journal& journal, int64_t number) {
  const Experiment experiment = experiment_of(journal, number);
  Json steps = Json::array();
  for (const study::Transition& step : journal.transitions(number)) {
    steps.push_back({{"state", step.state}, {"detail", step.detail}, {"time", step.time}});
  }
  Json follow_ups = Json::array();
  for (const Experiment& later : journal.experiments(number + 1)) {
    if (later.about != number) continue;
    follow_ups.push_back({{"number", later.number},
                          {"kind", later.proposal.kind},
                          {"verdict", later.decision ? Json(later.decision->verdict) : Json()},
                          {"reason", later.decision ? Json(later.decision->reason) : Json()}});
  }
  Json all = experiment_json(experiment);
  all.update(
      {{"config", experiment.config},
       {"reflection", experiment.reflection ? base::to_json(*experiment.reflection) : Json()},
       {"test", test_json(journal, experiment)},
       {"pairs", pairs_json(journal, experiment)},
       {"steps", steps},
       {"follow_ups", follow_ups}});
  return all;
}

std::string explanation_text(const study::Journal& journal, int64_t number) {
  const Json all = explanation(journal, number);
  const Experiment experiment = experiment_of(journal, number);
  const study::Prediction& predicted = experiment.proposal.prediction;
  std::string text =
      fmt::format("experiment {}, {} by {}, on {}\n  {}\n", number, experiment.proposal.kind,
                  experiment.proposal.author(),
                  experiment.parent == 0 ? std::string("the baseline")
                                         : fmt::format("experiment {}", experiment.parent),
                  experiment.proposal.hypothesis);
  for (const auto& [path, value] : experiment.proposal.patch.items()) {
    text += fmt::format("  {} = {}\n", path, value.dump());
  }
  text +=
      fmt::format("\npredicted before the run  {:+.4f} bits per byte, 80 % in [{:+.4f}, {:+.4f}]",
                  predicted.delta_bits_per_byte, predicted.interval_low, predicted.interval_high);
  if (predicted.probability_kept) {
    text += fmt::format(", kept with probability {:.2f}", *predicted.probability_kept);
  }
  text += "\n";
  if (const Json& test = all["test"]; test.is_object()) {
    text += fmt::format(
        "\nthe test: of the {:.3g} that the night may err with, this experiment could use {:.3g}\n",
        1 - test["confidence_of_night"].get<double>(), test["share_of_error"].get<double>());
    for (size_t look = 0; look < test["looks"].size(); ++look) {
      text +=
          fmt::format("  after {} pairs it is kept if noise alone does as well with p < {:.3g}\n",
                      test["looks"][look].get<int64_t>(), test["levels"][look].get<double>());
    }
    text += fmt::format(
        "  the incumbent had {} runs; a seed explains {:.0f} % of the variance of a run\n",
        test["incumbent_runs"].get<int64_t>(), 100 * test["seed_share"].get<double>());
  }
  if (!all["pairs"].empty()) {
    text += "\n  seed   candidate   reference   difference\n";
    for (const Json& pair : all["pairs"]) {
      const auto& candidate = pair["candidate"];
      const auto& incumbent = pair["incumbent"];
      const bool both = candidate.is_number() && incumbent.is_number();
      text += fmt::format(
          "  {:>4}   {:>9}   {:>9}   {:>10}\n", pair["seed"].get<int64_t>(),
          candidate.is_number() ? fmt::format("{:.4f}", candidate.get<double>()) : "-",
          incumbent.is_number() ? fmt::format("{:.4f}", incumbent.get<double>()) : "-",
          both ? fmt::format("{:+.4f}", candidate.get<double>() - incumbent.get<double>()) : "-");
    }
  }
  if (const auto& decision = experiment.decision) {
    text += fmt::format("\n{}: {}\n", decision->verdict, decision->reason);
    if (decision->expected_delta_bits_per_byte) {
      text += fmt::format("  allowing for the gate having let it pass, expect {:+.4f}\n",
                          *decision->expected_delta_bits_per_byte);
    }
    if (decision->agreement) {
      text += "  agrees with the prediction: " + *decision->agreement + "\n";
    }
    if (!decision->observed.empty()) text += "  observed: " + decision->observed + "\n";
    if (decision->audited_abort) {
      text += "  the abort rule would have given it up: " + *decision->audited_abort + "\n";
    }
  } else {
    text += "\nundecided, in state " + experiment.state + "\n";
  }
  if (!experiment.doubt.empty()) text += "no longer believed: " + experiment.doubt + "\n";
  if (experiment.reflection) {
    text += fmt::format("the proposer says: {} ({})\n", experiment.reflection->interpretation,
                        experiment.reflection->agreement);
  }
  for (const Json& later : all["follow_ups"]) {
    text += fmt::format("followed up by experiment {}, {}: {}\n", later["number"].get<int64_t>(),
                        later["kind"].get<std::string>(),
                        later["reason"].is_string() ? later["reason"].get<std::string>()
                                                    : std::string("undecided"));
  }
  text += "\nsteps\n";
  for (const Json& step : all["steps"]) {
    const std::string detail = step["detail"];
    text += fmt::format("  {}  {}{}\n", step["time"].get<std::string>(),
                        step["state"].get<std::string>(), detail.empty() ? "" : ": " + detail);
  }
  return text;
}

}  // namespace windtunnel::agent

// A configuration that equals the incumbent, the baseline or any earlier experiment has its answer
// already. Equal means the same fingerprint: resolved, without the seed.

#include "agent/veto.h"

namespace windtunnel::agent {
namespace {

std::optional<std::string> refuse(const BeforeRun& facts) {
  if (!facts.candidate.config) return std::nullopt;
  const std::string& fingerprint = facts.candidate.fingerprint;
  const Candidate incumbent = make_candidate(facts.program, facts.incumbent, base::Json::object());
  if (incumbent.fingerprint == fingerprint) {
    return "is the incumbent's own configuration";
  }
  if (baseline_candidate(facts.program, facts.incumbent).fingerprint == fingerprint) {
    return "is the baseline's configuration";
  }
  for (const study::Experiment& experiment : facts.history) {
    if (experiment.config_fingerprint == fingerprint && !experiment.config.is_null()) {
      return "has the configuration of experiment " + std::to_string(experiment.number);
    }
  }
  return std::nullopt;
}

const base::Registration<Veto> registration{
    {.name = "duplicate",
     .summary = "the configuration of the incumbent or of an earlier experiment",
     .entry = {.before_run = refuse}}};

}  // namespace
}  // namespace windtunnel::agent

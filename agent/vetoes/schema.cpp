// The patched configuration must be one that the trainer would accept.

#include "agent/veto.h"

namespace windtunnel::agent {
namespace {

std::optional<std::string> refuse(const BeforeRun& facts) {
  if (facts.candidate.config) return std::nullopt;
  return facts.candidate.problem;
}

const base::Registration<Veto> registration{
    {.name = "schema",
     .summary = "a configuration that breaks a rule of its schema or of its layers",
     .entry = {.before_run = refuse}}};

}  // namespace
}  // namespace windtunnel::agent

#pragma once
// The contract of a veto: a pure function that states its reason. Before a run it saves the
// device's time; after a run it keeps a better number from being kept for the wrong reason. One
// file each in agent/vetoes/, registered at its bottom.

#include <optional>
#include <string>
#include <vector>

#include "agent/program.h"
#include "agent/research_space.h"
#include "base/registry.h"
#include "study/run_record.h"

namespace windtunnel::agent {

struct BeforeRun {
  const Program& program;
  /// Resolved RunConfig as JSON.
  const base::Json& incumbent;
  const std::vector<study::Experiment>& history;
  const base::Json& patch;
  /// make_candidate(program, incumbent, patch).
  const Candidate& candidate;
};

struct AfterRun {
  const Program& program;
  /// The resolved configuration that ran.
  const study::RunConfig& config;
  const study::EvaluationResult& evaluation;
};

/// Has one of the two; each returns its reason, one sentence with the numbers, or nullopt.
struct Veto {
  std::optional<std::string> (*before_run)(const BeforeRun& facts) = nullptr;
  std::optional<std::string> (*after_run)(const AfterRun& facts) = nullptr;
};

using Vetoes = base::Registry<Veto>;

struct Refusal {
  /// Name of the veto, e.g. "duplicate", "router_collapse".
  std::string veto;
  std::string reason;
};

/// What every veto says, by name; empty means go.
std::vector<Refusal> refusals(const BeforeRun& facts);
std::vector<Refusal> refusals(const AfterRun& facts);

/// "duplicate: ...; limits: ..." for a decision's reason.
std::string text(const std::vector<Refusal>& refusals);

}  // namespace windtunnel::agent

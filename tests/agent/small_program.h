#pragma once
// A program of a few lines for tests, and what a study around it looks like.

#include <string>
#include <vector>

#include "agent/program.h"
#include "agent/research_space.h"

namespace windtunnel::agent::testing {

/// Front matter without the fences; each line can be replaced by its first word.
inline std::vector<std::string> small_front_matter() {
  return {
      "name: small",
      "corpus: {recipe: programs/corpora/debian_docs.yaml}",
      std::string("base: {train: {tokens_per_step: 256}, ") +
          "model: {pattern: '*D*E', width: 16, context_tokens: 32, vocabulary_size: 300}}",
      "night: {baseline_replicates: 2, experiments: 4}",
      "mutable:",
      "  - {path: train.optimizer.learning_rate, minimum: 0.005, maximum: 0.1, scale: log}",
      "  - {path: model.layers.E.num_experts, choices: [4, 8, 16]}",
      "  - {path: model.pattern, choices: ['*D*E', '*E*E', '*D*D']}",
      "frozen: [model.width]",
      "proposers: [{kind: random}]",
      "queue: []",
  };
}

/// `replacements`: the first line that starts with the key is replaced by the value.
inline std::string small_markdown(
    const std::vector<std::pair<std::string, std::string>>& replacements = {}) {
  std::vector<std::string> lines = small_front_matter();
  for (const auto& [key, value] : replacements) {
    for (std::string& line : lines) {
      if (line.starts_with(key)) {
        line = value;
        break;
      }
    }
  }
  std::string text = "---\n";
  for (const std::string& line : lines) text += line + "\n";
  return text + "---\n\n# A small study\n\nFind out what helps.\n";
}

inline Program small_program(
    const std::vector<std::pair<std::string, std::string>>& replacements = {}) {
  return parse_program(small_markdown(replacements), "small.md");
}

/// The baseline of a program as the loop would hand it on.
inline base::Json baseline_of(const Program& program) {
  return base::to_json(study::resolve_run_config(program.base, "base"));
}

/// A decided experiment.
inline study::Experiment decided(int64_t number, const Program& program,
                                 const base::Json& incumbent, const base::Json& patch, double delta,
                                 const std::string& proposer,
                                 const char* verdict = study::verdict::kDiscard) {
  const Candidate candidate = make_candidate(program, incumbent, patch);
  study::Experiment experiment;
  experiment.number = number;
  experiment.proposal.patch = patch;
  experiment.proposal.hypothesis = "it helps";
  experiment.proposal.diagnostic = "tokens per second";
  experiment.proposal.proposer = proposer;
  experiment.proposal.prediction = {.delta_bits_per_byte = -0.01,
                                    .interval_low = -0.05,
                                    .interval_high = 0.03,
                                    .probability_kept = 0.2};
  experiment.config = candidate.resolved;
  experiment.config_fingerprint = candidate.fingerprint;
  experiment.state = "decided";
  experiment.decision.emplace();
  experiment.decision->verdict = verdict;
  experiment.decision->reason = "measured";
  experiment.decision->delta_bits_per_byte = delta;
  experiment.decision->prediction_covered = delta > -0.05 && delta < 0.03;
  return experiment;
}

}  // namespace windtunnel::agent::testing

// A run cannot be kept if any layer's router has collapsed: its score would rest on few experts.
//
//   busiest expert's share >= max(guardrails.max_expert_load, 2 / E)
//   sd / mean of the load  >= guardrails.max_load_cv
//   entropy over log E     <  guardrails.min_load_entropy
//
// A figure that is not finite counts as collapsed.

#include <cmath>

#include "agent/veto.h"
#include "base/text.h"
#include "model/pattern.h"

namespace windtunnel::agent {
namespace {

/// Experts of the layer at a position, or nullopt if its kind has none.
std::optional<double> num_experts(const study::RunConfig& config, int position) {
  const std::string letters = model::expand_pattern(config.model.pattern);
  if (position < 0 || static_cast<size_t>(position) >= letters.size()) return std::nullopt;
  const std::string letter(1, letters[static_cast<size_t>(position)]);
  if (!config.model.layers.contains(letter)) return std::nullopt;
  const base::Json& options = config.model.layers[letter];
  if (!options.contains("num_experts")) return std::nullopt;
  return options["num_experts"].get<double>();
}

std::optional<std::string> refuse(const AfterRun& facts) {
  const Guardrails& limits = facts.program.guardrails;
  std::vector<std::string> found;
  for (const study::LayerHealth& health : facts.evaluation.router_health) {
    const std::string layer = "layer " + std::to_string(health.position) + ": ";
    double load_limit = limits.max_expert_load;
    if (const auto experts = num_experts(facts.config, health.position)) {
      load_limit = std::max(load_limit, 2.0 / *experts);
    }
    if (!(health.max_load < load_limit)) {
      found.push_back(layer + "the busiest expert takes " +
                      base::format_number(health.max_load, 3) + " of the tokens (limit " +
                      base::format_number(load_limit, 3) + ")");
    }
    if (!(health.load_cv < limits.max_load_cv)) {
      found.push_back(layer + "load sd over mean " + base::format_number(health.load_cv, 3) +
                      " (limit " + base::format_number(limits.max_load_cv, 3) + ")");
    }
    if (!(health.load_entropy >= limits.min_load_entropy)) {
      found.push_back(layer + "load entropy " + base::format_number(health.load_entropy, 3) +
                      " of 1 (least " + base::format_number(limits.min_load_entropy, 3) + ")");
    }
  }
  if (found.empty()) return std::nullopt;
  return base::join(found, "; ");
}

const base::Registration<Veto> registration{
    {.name = "router_collapse",
     .summary = "a router that sends nearly all tokens to few experts",
     .entry = {.after_run = refuse}}};

}  // namespace
}  // namespace windtunnel::agent

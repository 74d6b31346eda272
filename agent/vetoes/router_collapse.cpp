// A run cannot be kept if any layer's router has collapsed: its score would rest on few experts.
// The thresholds are those of the fixed-wall study.
//
//   busiest expert's share >= max(guardrails.max_expert_load, 2 / E)
//   sd / mean of the load  >= guardrails.max_load_cv
//   entropy over log E     <  guardrails.min_load_entropy, "near 0": with K = 1 the load is nearly
//                             one expert's. With K > 1 the first two rules see a collapse earlier,
//                             since K experts that share all load leave an entropy of log K.
//   largest bias / clamp   >= guardrails.max_bias_of_clamp, for a router with selection biases: the
//                             bias would push harder and cannot
//
// A figure that is not finite counts as collapsed.

#include <cmath>

#include "agent/veto.h"
#include "base/text.h"
#include "model/pattern.h"

namespace windtunnel::agent {
namespace {

/// Options of the layer at a position, or nullptr where the configuration has none.
const base::Json* options_at(const study::RunConfig& config, int position) {
  const std::string letters = model::expand_pattern(config.model.pattern);
  if (position < 0 || static_cast<size_t>(position) >= letters.size()) return nullptr;
  return base::find_path(config.model.layers, letters.substr(static_cast<size_t>(position), 1));
}

std::optional<double> number_at(const base::Json* options, const std::string& path) {
  const base::Json* value = options ? base::find_path(*options, path) : nullptr;
  return value && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

/// Of the kind of router that was chosen.
std::optional<double> bias_clamp(const base::Json* options) {
  const base::Json* kind = options ? base::find_path(*options, "router.kind") : nullptr;
  if (!kind) return std::nullopt;
  return number_at(options, "router." + kind->get<std::string>() + ".bias_clamp");
}

std::string text_of(double value) { return base::format_number(value, 3); }

std::vector<std::string> collapses(const study::LayerHealth& health, const base::Json* options,
                                   const Guardrails& limits) {
  std::vector<std::string> found;
  double load_limit = limits.max_expert_load;
  if (const auto experts = number_at(options, "num_experts")) {
    load_limit = std::max(load_limit, 2.0 / *experts);
  }
  if (!(health.max_load < load_limit)) {
    found.push_back("the busiest expert takes " + text_of(health.max_load) +
                    " of the tokens (limit " + text_of(load_limit) + ")");
  }
  if (!(health.load_cv < limits.max_load_cv)) {
    found.push_back("load sd over mean " + text_of(health.load_cv) + " (limit " +
                    text_of(limits.max_load_cv) + ")");
  }
  if (!(health.load_entropy >= limits.min_load_entropy)) {
    found.push_back("load entropy " + text_of(health.load_entropy) + " of 1 (least " +
                    text_of(limits.min_load_entropy) + ")");
  }
  const auto clamp = bias_clamp(options);
  if (health.bias_max && clamp) {
    // The clamp as the bias has it, in single precision.
    const double share = *health.bias_max / static_cast<double>(static_cast<float>(*clamp));
    if (!(share < limits.max_bias_of_clamp)) {
      found.push_back("the largest bias " + text_of(*health.bias_max) + " is " + text_of(share) +
                      " of its clamp " + text_of(*clamp) + " (limit " +
                      text_of(limits.max_bias_of_clamp) + ")");
    }
  }
  return found;
}

std::optional<std::string> refuse(const AfterRun& facts) {
  std::vector<std::string> found;
  for (const study::LayerHealth& health : facts.evaluation.router_health) {
    const base::Json* options = options_at(facts.config, health.position);
    for (const std::string& reason : collapses(health, options, facts.program.guardrails)) {
      found.push_back("layer " + std::to_string(health.position) + ": " + reason);
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

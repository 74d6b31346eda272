// The program's limits on parameters, FLOPs and memory, by the census: no device time is spent on
// finding out.

#include "agent/veto.h"
#include "base/text.h"
#include "model/census.h"
#include "study/objective_kind.h"

namespace windtunnel::agent {
namespace {

std::optional<std::string> refuse(const BeforeRun& facts) {
  if (!facts.candidate.config) return std::nullopt;
  const study::RunConfig& config = *facts.candidate.config;
  const model::Census census = study::census_of(config);
  const study::ObjectiveCost objectives = study::objectives_cost(config);
  const Guardrails& limits = facts.program.guardrails;
  std::vector<std::string> found;
  const auto check = [&](const char* what, const char* limit_name, double value, double limit) {
    if (limit <= 0 || value <= limit) return;
    found.push_back(std::string(what) + " " + base::format_count(value) + " exceed guardrails." +
                    limit_name + " = " + base::format_count(limit));
  };
  check("active parameters", "max_parameters_active", static_cast<double>(census.parameters_active),
        static_cast<double>(limits.max_parameters_active));
  check("total parameters", "max_parameters_total", static_cast<double>(census.parameters_total),
        static_cast<double>(limits.max_parameters_total));
  check("FLOPs per token", "max_flops_per_token",
        census.flops_per_token_exact + objectives.flops_per_token, limits.max_flops_per_token);
  check("estimated bytes of memory", "max_memory_bytes",
        census.peak_bytes() + objectives.memory_bytes(study::tokens_in_flight(config)),
        limits.max_memory_bytes);
  if (found.empty()) return std::nullopt;
  return base::join(found, "; ");
}

const base::Registration<Veto> registration{
    {.name = "limits",
     .summary = "more parameters, FLOPs per token or memory than the program allows",
     .entry = {.before_run = refuse}}};

}  // namespace
}  // namespace windtunnel::agent

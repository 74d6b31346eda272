#include "agent/veto.h"

#include "base/text.h"

namespace windtunnel::agent {

std::vector<Refusal> refusals(const BeforeRun& facts) {
  std::vector<Refusal> result;
  for (const auto& kind : Vetoes::instance().kinds()) {
    if (!kind.entry.before_run) continue;
    if (auto reason = kind.entry.before_run(facts)) result.push_back({kind.name, *reason});
  }
  return result;
}

std::vector<Refusal> refusals(const AfterRun& facts) {
  std::vector<Refusal> result;
  for (const auto& kind : Vetoes::instance().kinds()) {
    if (!kind.entry.after_run) continue;
    if (auto reason = kind.entry.after_run(facts)) result.push_back({kind.name, *reason});
  }
  return result;
}

std::string text(const std::vector<Refusal>& refusals) {
  std::vector<std::string> parts;
  for (const Refusal& refusal : refusals) parts.push_back(refusal.veto + ": " + refusal.reason);
  return base::join(parts, "; ");
}

}  // namespace windtunnel::agent

// A proposal may set only the program's mutable paths, each inside its range or choices; frozen
// paths win over mutable ones.

#include "agent/veto.h"
#include "base/text.h"

namespace windtunnel::agent {
namespace {

std::optional<std::string> refuse(const BeforeRun& facts) {
  std::vector<std::string> found;
  for (const base::Problem& problem : patch_problems(facts.program, facts.patch)) {
    found.push_back(problem.text());
  }
  if (found.empty()) return std::nullopt;
  return base::join(found, "; ");
}

const base::Registration<Veto> registration{
    {.name = "space",
     .summary = "a path that is not mutable, or a value outside its range",
     .entry = {.before_run = refuse}}};

}  // namespace
}  // namespace windtunnel::agent

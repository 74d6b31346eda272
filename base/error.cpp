#include "base/error.h"

namespace windtunnel::base {
namespace {

std::string describe_problems(const std::string& subject, const std::vector<Problem>& problems) {
  std::string text = subject;
  if (problems.size() == 1) return text + ": " + problems.front().text();
  text += ": " + std::to_string(problems.size()) + " problems";
  for (const Problem& problem : problems) text += "\n  " + problem.text();
  return text;
}

}  // namespace

ConfigError::ConfigError(const std::string& subject, std::vector<Problem> found)
    : Error(describe_problems(subject, found)), problems(std::move(found)) {}

}  // namespace windtunnel::base

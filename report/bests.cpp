#include "report/bests.h"

namespace windtunnel::report {

std::vector<Best> bests(const StudyData& data) {
  std::vector<Best> steps;
  if (!data.baseline.level) return steps;
  steps.push_back({.experiment = 0, .bits_per_byte = *data.baseline.level});
  for (const auto& view : data.experiments) {
    if (!view.kept() || !view.level) continue;
    const double level = *view.level;
    steps.push_back({.experiment = view.experiment.number,
                     .bits_per_byte = level,
                     .step_gain = 1 - level / steps.back().bits_per_byte,
                     .cumulative_gain = 1 - level / steps.front().bits_per_byte});
  }
  return steps;
}

}  // namespace windtunnel::report

#include "study/stall_watch.h"

#include <algorithm>

#include "base/text.h"

namespace windtunnel::study {

void StallWatch::saw(int64_t step, double now) {
  if (step <= step_) return;
  if (step_ > 0) longest_pause_ = std::max(longest_pause_, now - last_);
  step_ = step;
  last_ = now;
}

double StallWatch::patience_seconds() const {
  // With one point there is no pause yet to go by.
  if (longest_pause_ == 0) return std::max(limits_.silence_seconds, limits_.stall_seconds);
  return std::max(limits_.stall_seconds, limits_.stall_factor * longest_pause_);
}

std::string StallWatch::problem(double now) const {
  if (step_ == 0 || now - last_ < patience_seconds()) return {};
  return "no step after step " + std::to_string(step_) + " for " +
         base::format_duration(now - last_) + "; the longest pause between points was " +
         base::format_duration(longest_pause_);
}

}  // namespace windtunnel::study

#include "trainer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace windtunnel::trainer {
namespace {

/// From 1 to `last` on half a cosine, then flat.
double cosine(double progress, double last) {
  const double angle = std::numbers::pi * std::clamp(progress, 0.0, 1.0);
  return last + (1 - last) * 0.5 * (1 + std::cos(angle));
}

double step_cosine(const study::ScheduleConfig& schedule, int64_t step) {
  const auto at = static_cast<double>(step), warmup = static_cast<double>(schedule.warmup_steps);
  if (at < warmup) return at / warmup;
  const auto last = static_cast<double>(schedule.estimated_steps);
  return cosine((at - warmup) / (last - warmup), schedule.final_fraction);
}

}  // namespace

double learning_rate_factor(const study::ScheduleConfig& schedule, double progress, int64_t step) {
  if (schedule.kind == "step_cosine") return step_cosine(schedule, step);

  const double warmup = schedule.warmup_fraction;
  if (progress < warmup) return progress / warmup;
  if (schedule.kind == "constant") return 1;
  if (schedule.kind == "cosine") {
    return cosine((progress - warmup) / (1 - warmup), schedule.final_fraction);
  }
  if (schedule.kind == "wsd") {
    const double decay = std::min(schedule.decay_fraction, 1 - warmup);
    const double fallen = std::clamp((progress - (1 - decay)) / decay, 0.0, 1.0);
    return 1 - (1 - schedule.final_fraction) * fallen;
  }
  throw base::Error("schedule '" + schedule.kind +
                    "' does not exist; known: constant, cosine, step_cosine, wsd");
}

}  // namespace windtunnel::trainer

#include "trainer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace windtunnel::trainer {

double learning_rate_factor(const study::ScheduleConfig& schedule, double progress) {
  const double warmup = schedule.warmup_fraction;
  if (progress < warmup) return progress / warmup;
  if (schedule.kind == "constant") return 1;

  const double fall = 1 - schedule.final_fraction;
  if (schedule.kind == "cosine") {
    const double angle = std::numbers::pi * (progress - warmup) / (1 - warmup);
    return schedule.final_fraction + fall * 0.5 * (1 + std::cos(angle));
  }
  if (schedule.kind == "wsd") {
    const double decay = std::min(kDecayFraction, 1 - warmup);
    return 1 - fall * std::clamp((progress - (1 - decay)) / decay, 0.0, 1.0);
  }
  throw base::Error("schedule '" + schedule.kind +
                    "' does not exist; known: constant, cosine, wsd");
}

}  // namespace windtunnel::trainer

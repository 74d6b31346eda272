#include "trainer/budget.h"

#include <algorithm>

#include "base/error.h"

namespace windtunnel::trainer {

Budget::Budget(const study::RunConfig& config)
    : Budget(config.train.budget, study::planned_steps(config)) {}

Budget::Budget(const study::BudgetConfig& budget, int64_t planned_steps)
    : seconds_(budget.kind == "seconds" ? budget.amount : 0), planned_steps_(planned_steps) {
  base::check((seconds_ > 0) != (planned_steps_ > 0), "a budget counts either seconds or steps");
}

double Budget::progress(const Spent& spent) const {
  const double used =
      counts_steps() ? spent.steps / static_cast<double>(planned_steps_) : spent.seconds / seconds_;
  return std::clamp(used, 0.0, 1.0);
}

}  // namespace windtunnel::trainer

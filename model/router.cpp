#include "model/router.h"

#include <cmath>

namespace windtunnel::model {

std::optional<RouterHealth> health_of_load(const torch::Tensor& load_E) {
  const auto load = load_E.to(torch::kCPU, torch::kDouble).contiguous();
  const int64_t experts = load.size(0);
  const double* count = load.data_ptr<double>();
  double total = 0;
  for (int64_t e = 0; e < experts; ++e) total += count[e];
  if (total == 0) return std::nullopt;
  const double even = 1.0 / static_cast<double>(experts);
  RouterHealth health;
  double variance = 0;
  for (int64_t e = 0; e < experts; ++e) {
    const double share = count[e] / total;
    if (share > 0) health.load_entropy -= share * std::log(share);
    variance += (share - even) * (share - even) * even;
    health.max_load = std::max(health.max_load, share);
  }
  // A single expert is always evenly loaded.
  health.load_entropy = experts > 1 ? health.load_entropy / std::log(double(experts)) : 1.0;
  health.load_cv = std::sqrt(variance) / even;
  return health;
}

}  // namespace windtunnel::model

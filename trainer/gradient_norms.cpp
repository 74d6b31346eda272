#include "trainer/gradient_norms.h"

#include <cmath>
#include <string>

namespace windtunnel::trainer {

GradientNorms clip_gradients(const std::vector<torch::Tensor>& gradients, double limit) {
  GradientNorms norms;
  norms.each_P = at::stack(at::_foreach_norm(gradients));
  norms.global = norms.each_P.norm();
  if (norms.global.is_cpu()) {
    // Reading the norm costs nothing here, and most steps need no scaling.
    const double value = norms.global.item<double>();
    if (value > limit) at::_foreach_mul_(gradients, limit / value);
  } else {
    at::_foreach_mul_(gradients, (limit / norms.global).clamp_max(1));
  }
  return norms;
}

std::map<int, double> norms_of_layers(const std::vector<model::Parameter>& parameters,
                                      const torch::Tensor& norms_P) {
  static const std::string prefix = "layers.";
  const torch::Tensor values = norms_P.to(at::kCPU, at::kDouble);
  std::map<int, double> norms;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].name;
    if (!name.starts_with(prefix)) continue;
    double& norm = norms[std::stoi(name.substr(prefix.size()))];
    norm = std::hypot(norm, values[static_cast<int64_t>(i)].item<double>());
  }
  return norms;
}

}  // namespace windtunnel::trainer

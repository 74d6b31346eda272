#include "model/layer.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <numbers>

namespace windtunnel::model {

torch::Tensor WeightSource::draw(const std::string& name, at::IntArrayRef sizes,
                                 int64_t fan_in) const {
  auto generator = at::detail::createCPUGenerator(base::RandomStream(seed_, prefix_ + name).next());
  // A uniform draw between the normal probabilities of -3 and 3, put through the inverse: every
  // draw counts, so the number of draws does not depend on their values.
  const double inside = std::erf(3 / std::sqrt(2.0));
  auto draws = torch::empty(sizes, torch::kDouble).uniform_(-inside, inside, generator);
  const double inverse = 1.0 / static_cast<double>(fan_in);
  const double deviation = initialization_ == "inverse_fan_in" ? inverse : std::sqrt(inverse);
  return draws.erfinv_().mul_(std::numbers::sqrt2 * deviation).to(torch::kFloat32);
}

torch::Tensor Layer::add_parameter(const std::string& name, ParameterRole role,
                                   torch::Tensor value) {
  auto& parameter = register_parameter(name, std::move(value));
  own_parameters_.push_back({name, parameter, role});
  return parameter;
}

}  // namespace windtunnel::model

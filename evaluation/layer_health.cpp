#include "evaluation/layer_health.h"

#include <map>

namespace windtunnel::evaluation {

std::vector<study::LayerHealth> router_health(const model::LanguageModel& model) {
  std::vector<study::LayerHealth> all;
  for (const model::RouterHealth& health : model.router_health()) {
    all.push_back({.position = health.position,
                   .load_entropy = health.load_entropy,
                   .load_cv = health.load_cv,
                   .max_load = health.max_load,
                   .z_loss = health.z_loss,
                   .bias_mean = health.bias_mean,
                   .bias_max = health.bias_max,
                   .bias_at_clamp = health.bias_at_clamp,
                   .saturation = health.saturation});
  }
  return all;
}

std::vector<study::LayerPoint> layer_points(const model::LanguageModel& model) {
  std::map<int, study::LayerPoint> by_position;
  for (study::LayerHealth& health : router_health(model)) {
    by_position[health.position].router = std::move(health);
  }
  const std::vector<model::LayerFigure> figures = model.layer_figures();
  if (!figures.empty()) {
    std::vector<torch::Tensor> scalars;
    for (const auto& figure : figures) {
      scalars.push_back(figure.value.detach().to(torch::kDouble).reshape({}));
    }
    const torch::Tensor values = torch::stack(scalars).to(torch::kCPU);  // waits once for all
    for (size_t i = 0; i < figures.size(); ++i) {
      by_position[figures[i].position].figures[figures[i].name] =
          values[static_cast<int64_t>(i)].item<double>();
    }
  }
  std::vector<study::LayerPoint> all;
  for (auto& [position, point] : by_position) {
    point.position = position;
    all.push_back(std::move(point));
  }
  return all;
}

}  // namespace windtunnel::evaluation

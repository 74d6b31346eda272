#include "model/depth_scaling.h"

#include <cmath>

#include "base/error.h"

namespace windtunnel::model {
namespace {

/// Exponents of the layer number at each place.
struct Placement {
  const char* name;
  double values = 0, gate = 0, feed_forward = 0, output = 0;
};

// SwiGLU grows with the square of its input, so a quarter power at its input is about a square root
// at its output.
constexpr Placement kPlacements[] = {
    {.name = "none"},
    {.name = "norms", .values = -0.5, .gate = -0.5, .feed_forward = -0.5},
    {.name = "branches", .values = -0.5, .feed_forward = -0.5},
    {.name = "feed_forward", .feed_forward = -0.25},
    {.name = "feed_forward_values", .values = -0.5, .feed_forward = -0.25},
    {.name = "feed_forward_values_gate", .values = -0.5, .gate = -0.5, .feed_forward = -0.25},
    {.name = "values", .values = -0.5},
    {.name = "values_gate", .values = -0.5, .gate = -0.5},
    {.name = "outputs", .output = -0.5},
};

}  // namespace

const std::vector<std::string>& depth_scaling_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Placement& placement : kPlacements) all.emplace_back(placement.name);
    return all;
  }();
  return names;
}

DepthScales depth_scales(std::string_view name, int layer) {
  for (const Placement& placement : kPlacements) {
    if (name != placement.name) continue;
    const auto factor = [&](double exponent) { return std::pow(double(layer), exponent); };
    return {factor(placement.values), factor(placement.gate), factor(placement.feed_forward),
            factor(placement.output)};
  }
  throw base::Error("model.depth_scaling = " + std::string(name) + " does not exist");
}

}  // namespace windtunnel::model

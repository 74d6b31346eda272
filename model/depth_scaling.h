#pragma once
// Deterministic scaling by depth: factors of 1 / sqrt(l) or l^(-1/4) at one of eight places of
// layer l, counted from 1 among the layers of its sort (attention, feed-forward).
//
// Normalised queries and keys do not depend on the size of their input, so scaling the input of
// attention scales its values and its gate alone.

#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::model {

struct DepthScales {
  /// Of the values of attention.
  double values = 1;
  /// Of the input of attention's gate.
  double gate = 1;
  /// Of the input of a feed-forward layer, its router included.
  double feed_forward = 1;
  /// Of what a layer adds to the residual.
  double output = 1;
};

/// "none" first.
const std::vector<std::string>& depth_scaling_names();

/// Errors: Error for a name that is not in depth_scaling_names().
DepthScales depth_scales(std::string_view name, int layer);

}  // namespace windtunnel::model

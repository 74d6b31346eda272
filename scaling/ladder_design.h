#pragma once
// The list of runs' sizes and budgets that a LadderConfig stands for, before any model is counted.

#include <optional>
#include <string>
#include <vector>

#include "scaling/ladder_config.h"

namespace windtunnel::scaling {

/// One size under one budget on one curve. Borrows from the LadderConfig.
struct LadderPoint {
  std::string name;
  const RungConfig* rung = nullptr;
  /// Null: the base's own curve.
  const VariantConfig* variant = nullptr;
  bool held_out = false;
  /// What sets its tokens: one of these, and `steps` on top.
  std::optional<double> tokens_per_parameter;
  std::optional<double> tokens;
  std::optional<double> flops;
  std::optional<int64_t> steps;
};

/// The base's curve in the order of the rungs, then variant by variant in the same order.
/// Errors: ConfigError with all problems of the design: names, counts, what contradicts.
std::vector<LadderPoint> ladder_points(const LadderConfig& ladder);

}  // namespace windtunnel::scaling

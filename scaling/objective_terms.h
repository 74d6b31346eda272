#pragma once
// What the files behind objective.h share.

#include <array>
#include <optional>
#include <vector>

#include "scaling/law.h"

namespace windtunnel::scaling {

using LogTerms = std::array<double, Law::kMaximumTerms>;
using Slopes = std::array<double, Law::kMaximumTerms * Law::kMaximumExponents>;

/// ln of a coefficient that is 0; its exponential is 0 beside any loss.
constexpr double kLogOfZero = -600;

inline std::optional<double> pin_of(const std::vector<std::optional<double>>& pins, size_t index) {
  return index < pins.size() ? pins[index] : std::nullopt;
}

}  // namespace windtunnel::scaling

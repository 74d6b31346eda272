#pragma once
// Tensors out of golden files.

#include <torch/types.h>

#include <functional>
#include <vector>

#include "base/json.h"

namespace windtunnel::tests {

/// Nested arrays of numbers, all of one length at each level, in double.
inline torch::Tensor tensor_of(const base::Json& nested) {
  std::vector<int64_t> sizes;
  for (const base::Json* level = &nested; level->is_array(); level = &level->at(0)) {
    sizes.push_back(static_cast<int64_t>(level->size()));
  }
  std::vector<double> values;
  const std::function<void(const base::Json&)> collect = [&](const base::Json& value) {
    if (!value.is_array()) return values.push_back(value.get<double>());
    for (const base::Json& item : value) collect(item);
  };
  collect(nested);
  return torch::tensor(values, torch::kDouble).view(sizes);
}

}  // namespace windtunnel::tests

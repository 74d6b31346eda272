#pragma once
// Rows that follow a law, exactly or with noise.

#include <cmath>
#include <vector>

#include "base/random.h"
#include "scaling/law_fit.h"

namespace windtunnel::tests {

struct Truth {
  double E = 0;
  double A = 0;
  double alpha = 0;
  double operator()(double flops) const { return E + A * std::pow(flops, -alpha); }
};

inline scaling::Observation row(const std::string& name, double flops, double loss) {
  scaling::Observation result;
  result.name = name;
  result.flops = flops;
  result.flops_convention = scaling::convention::kAsGiven;
  result.loss = loss;
  result.loss_unit = "bits_per_byte";
  return result;
}

/// `count` budgets evenly in ln C; losses multiplied by exp(noise * normal).
inline std::vector<scaling::Observation> rows_of(const Truth& truth, int count, double low,
                                                 double high, double noise = 0, uint64_t seed = 1) {
  base::RandomStream random(seed, "rows");
  std::vector<scaling::Observation> rows;
  for (int i = 0; i < count; ++i) {
    const double flops = low * std::pow(high / low, static_cast<double>(i) / (count - 1));
    rows.push_back(
        row("r" + std::to_string(i), flops, truth(flops) * std::exp(noise * random.normal())));
  }
  return rows;
}

}  // namespace windtunnel::tests

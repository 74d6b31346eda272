#include "agent/noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace windtunnel::agent {

namespace {

// A configuration whose mean lies this many baseline sds above the baseline's has noise of its own.
constexpr double kFarWorseSds = 6;

/// Bits per byte of one configuration by seed.
using Row = std::map<int64_t, double>;

double mean_of(const Row& row) {
  double sum = 0;
  for (const auto& [seed, value] : row) sum += value;
  return sum / static_cast<double>(row.size());
}

double squares_around_mean(const Row& row) {
  const double mean = mean_of(row);
  double sum = 0;
  for (const auto& [seed, value] : row) sum += (value - mean) * (value - mean);
  return sum;
}

std::vector<Row> table_of(const std::vector<study::RunRecord>& records, const std::string& key) {
  std::vector<Row> rows;
  std::map<std::string, size_t> row_of;
  for (const study::RunRecord& record : records) {
    if (!record.completed() || record.comparability_key != key) continue;
    const auto [place, is_new] = row_of.try_emplace(record.config_fingerprint, rows.size());
    if (is_new) rows.emplace_back();
    rows[place->second][record.seed] = *record.bits_per_byte();
  }
  return rows;
}

/// Residual sum of squares of the additive model and its degrees of freedom.
Noise::Variance residual_of_additive_model(const std::vector<Row>& rows) {
  std::vector<double> row_effect(rows.size(), 0.0);
  std::map<int64_t, double> seed_effect;
  size_t cells = 0;
  for (const Row& row : rows) {
    for (const auto& [seed, value] : row) seed_effect[seed] = 0;
    cells += row.size();
  }
  // Least squares by alternating means; each pass lowers the sum of squares.
  constexpr int kMostPasses = 500;
  double largest_move = 1;
  for (int pass = 0; pass < kMostPasses && largest_move > 1e-10; ++pass) {
    largest_move = 0;
    for (size_t index = 0; index < rows.size(); ++index) {
      double sum = 0;
      for (const auto& [seed, value] : rows[index]) sum += value - seed_effect[seed];
      row_effect[index] = sum / static_cast<double>(rows[index].size());
    }
    std::map<int64_t, std::pair<double, int>> sums;
    for (size_t index = 0; index < rows.size(); ++index) {
      for (const auto& [seed, value] : rows[index]) {
        sums[seed].first += value - row_effect[index];
        sums[seed].second += 1;
      }
    }
    for (const auto& [seed, sum] : sums) {
      const double effect = sum.first / sum.second;
      largest_move = std::max(largest_move, std::abs(effect - seed_effect[seed]));
      seed_effect[seed] = effect;
    }
  }
  double squares = 0;
  for (size_t index = 0; index < rows.size(); ++index) {
    for (const auto& [seed, value] : rows[index]) {
      const double residual = value - row_effect[index] - seed_effect[seed];
      squares += residual * residual;
    }
  }
  // Rows that share no seed, even through others, would make this too small, which is the careful
  // side; candidates always share their incumbent's seeds.
  const auto parameters = static_cast<int64_t>(rows.size() + seed_effect.size()) - 1;
  return {squares, std::max<int64_t>(0, static_cast<int64_t>(cells) - parameters)};
}

}  // namespace

Noise measure_noise(const std::vector<study::RunRecord>& records, const std::string& key) {
  Noise noise;
  noise.comparability_key = key;
  std::vector<Row> rows = table_of(records, key);
  if (rows.empty()) return noise;

  if (rows.front().size() > 1) {
    noise.baseline_degrees = static_cast<int64_t>(rows.front().size()) - 1;
    noise.baseline_sd =
        std::sqrt(squares_around_mean(rows.front()) / static_cast<double>(noise.baseline_degrees));
    const double limit = mean_of(rows.front()) + kFarWorseSds * *noise.baseline_sd;
    std::erase_if(rows, [&](const Row& row) { return mean_of(row) > limit; });
  }
  double squares = 0;
  for (const Row& row : rows) {
    squares += squares_around_mean(row);
    noise.run_degrees += static_cast<int64_t>(row.size()) - 1;
  }
  if (noise.run_degrees > 0) {
    noise.run_sd = std::sqrt(squares / static_cast<double>(noise.run_degrees));
  }
  const Noise::Variance residual = residual_of_additive_model(rows);
  noise.pair_degrees = residual.degrees;
  if (residual.degrees > 0) {
    noise.pair_sd = std::sqrt(2 * residual.value / static_cast<double>(residual.degrees));
  }
  return noise;
}

Noise::Variance Noise::pair_variance() const {
  const double pairs = pair_sd ? *pair_sd * *pair_sd * static_cast<double>(pair_degrees) : 0.0;
  const double alone =
      baseline_sd ? 2 * *baseline_sd * *baseline_sd * static_cast<double>(baseline_degrees) : 0.0;
  const int64_t degrees = pair_degrees + baseline_degrees;
  return {degrees > 0 ? (pairs + alone) / static_cast<double>(degrees) : 0.0, degrees};
}

}  // namespace windtunnel::agent

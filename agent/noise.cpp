#include "agent/noise.h"

#include <Eigen/QR>
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
///
/// The effects of the configurations are put out of the normal equations: what is left has one
/// unknown for each seed, of which there are few however many runs there are. With R_c the runs of
/// configuration c, row and column s stand for a seed:
///   (diag(n_s) - sum over c of 1_c 1_c' / |R_c|) effect = sum over c in s of (y_cs - mean_c).
Noise::Variance residual_of_additive_model(const std::vector<Row>& rows) {
  std::map<int64_t, Eigen::Index> place_of;
  int64_t cells = 0;
  for (const Row& row : rows) {
    cells += std::ssize(row);
    for (const auto& [seed, value] : row) place_of.try_emplace(seed, std::ssize(place_of));
  }
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(std::ssize(place_of), std::ssize(place_of));
  Eigen::VectorXd right = Eigen::VectorXd::Zero(std::ssize(place_of));
  double squares = 0;
  for (const Row& row : rows) {
    const double mean = mean_of(row);
    squares += squares_around_mean(row);
    for (const auto& [seed, value] : row) {
      const Eigen::Index place = place_of.at(seed);
      right[place] += value - mean;
      normal(place, place) += 1;
      for (const auto& [other, ignored] : row) {
        normal(place, place_of.at(other)) -= 1 / static_cast<double>(row.size());
      }
    }
  }
  // Of less than full rank: a constant may move between configurations and seeds, in each group of
  // rows that shares no seed with the others.
  const Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solved(normal);
  squares = std::max(0.0, squares - right.dot(solved.solve(right)));
  const int64_t degrees = cells - std::ssize(rows) - static_cast<int64_t>(solved.rank());
  return {squares, std::max<int64_t>(0, degrees)};
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

double Noise::seed_share() const {
  if (!pair_sd || !run_sd || *run_sd <= 0) return 0;
  return std::clamp(1 - *pair_sd * *pair_sd / (2 * *run_sd * *run_sd), 0.0, 1.0);
}

}  // namespace windtunnel::agent

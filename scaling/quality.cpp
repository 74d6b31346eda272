#include "scaling/quality.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/text.h"
#include "scaling/intervals.h"

namespace windtunnel::scaling {
namespace {

constexpr size_t kRowsOfATrend = 10;
constexpr size_t kRowsOfALongTrend = 20000;
constexpr double kOutlier = 6;
/// Median deviation -> standard deviation, for normal noise.
constexpr double kMedianToSd = 1.4826;
/// Residuals below this are a good fit, whatever the others are.
constexpr double kNegligible = 1e-4;

bool all_have(const std::vector<Observation>& rows, std::optional<double> Observation::*member) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const Observation& row) { return row.*member && *(row.*member) > 0; });
}

/// Residuals of ln L from the simplest law the rows can carry; empty if they carry none.
std::vector<double> trend_residuals(const std::vector<Observation>& rows) {
  const bool positive =
      std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.loss > 0; });
  if (rows.size() < kRowsOfATrend || !positive) return {};
  const bool by_size =
      all_have(rows, &Observation::parameters_active) && all_have(rows, &Observation::tokens);
  if (!by_size && !all_have(rows, &Observation::flops)) return {};
  Target target{.law = &law_named(by_size ? "loss_nd" : "loss_c").entry, .huber_delta = 1e-2};
  target.rows.reserve(rows.size());
  for (const Observation& row : rows) {
    target.rows.push_back({.point = point_of(row), .loss = row.loss});
  }
  // The trend of a long table is known well enough from some of its rows.
  const Target some = thinned(target, kRowsOfALongTrend, "rows of the trend");
  try {
    return residuals(target, search(some, 4).best);
  } catch (const base::Error&) {
    return {};  // no trend, so nothing is off it; the fit itself says what is wrong
  }
}

void flag_outliers(const std::vector<Observation>& rows, std::vector<Flag>& flags) {
  const std::vector<double> residuals = trend_residuals(rows);
  if (residuals.empty()) return;
  std::vector<double> sizes;
  for (const double r : residuals) sizes.push_back(std::abs(r));
  const double scale = std::max(kMedianToSd * quantile_of(sizes, 0.5), kNegligible);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (std::abs(residuals[i]) <= kOutlier * scale) continue;
    flags.push_back({rows[i].name, "outlier",
                     "loss " + base::format_number(rows[i].loss, 4) + " is " +
                         base::format_number(100 * std::expm1(-residuals[i]), 3) +
                         " % off the trend of the other rows, " +
                         base::format_number(std::abs(residuals[i]) / scale, 3) +
                         " standard deviations"});
  }
}

void flag_duplicates(const std::vector<Observation>& rows, std::vector<Flag>& flags) {
  std::vector<std::pair<size_t, size_t>> repeats;
  for (const auto& group : rows_of_one_loss(rows)) {
    std::map<std::array<double, 4>, size_t> seen;
    for (const size_t i : group) {
      const Observation& row = rows[i];
      const auto [first, is_new] =
          seen.emplace(std::array{row.parameters_active.value_or(0), row.tokens.value_or(0),
                                  row.unique_tokens.value_or(0), row.flops.value_or(0)},
                       i);
      if (!is_new) repeats.emplace_back(i, first->second);
    }
  }
  std::sort(repeats.begin(), repeats.end());
  for (const auto& [repeat, first] : repeats) {
    flags.push_back(
        {rows[repeat].name, "duplicate", "same N, D, C and loss as " + rows[first].name});
  }
}

void flag_edges(const std::vector<Observation>& rows, std::vector<Flag>& flags) {
  std::map<std::pair<double, double>, std::vector<const Observation*>> groups;
  for (const Observation& row : rows) {
    if (!row.learning_rate) continue;
    groups[{row.parameters_active.value_or(0), row.tokens.value_or(0)}].push_back(&row);
  }
  for (const auto& [place, group] : groups) {
    const auto rate = [](const auto* a, const auto* b) {
      return a->learning_rate < b->learning_rate;
    };
    const auto [low, high] = std::minmax_element(group.begin(), group.end(), rate);
    if ((*low)->learning_rate == (*high)->learning_rate) continue;
    const auto best = std::min_element(
        group.begin(), group.end(), [](const auto* a, const auto* b) { return a->loss < b->loss; });
    const bool lowest = (*best)->learning_rate == (*low)->learning_rate;
    const bool highest = (*best)->learning_rate == (*high)->learning_rate;
    if (!lowest && !highest) continue;
    flags.push_back({(*best)->name, "edge_of_grid",
                     "its learning rate " + base::format_number(*(*best)->learning_rate, 3) +
                         " is the best and the " + (lowest ? "lowest" : "highest") + " of " +
                         std::to_string(group.size()) + "; try " +
                         base::format_number(*(*best)->learning_rate * (lowest ? 1.0 / 3 : 3), 3)});
  }
}

}  // namespace

std::vector<Flag> flags_of(const std::vector<Observation>& rows) {
  std::vector<Flag> flags;
  flag_duplicates(rows, flags);
  flag_outliers(rows, flags);
  for (const Observation& row : rows) {
    if (row.schedule_finished == false) {
      flags.push_back({row.name, "unfinished_schedule",
                       "the learning rate did not run to its end: the loss is not final"});
    }
    if (row.learning_rate_tuned == false) {
      flags.push_back({row.name, "untuned", "the learning rate was not tuned for this size"});
    }
  }
  flag_edges(rows, flags);
  return flags;
}

}  // namespace windtunnel::scaling

#include "scaling/gate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"

namespace windtunnel::scaling {
namespace {

constexpr size_t kCuts = 12;
/// An interval costs passes over all fitted rows, so that the cost grows with their square.
constexpr size_t kRows = 2000;
constexpr int kStarts = 4;
/// Budgets this close are one.
constexpr double kSameBudget = 1.001;

struct Missed {
  double squares = 0;
  double expected_squares = 0;
};

Window test_window(const Target& fitted, const std::vector<Row>& tested,
                   const std::vector<Observation>& rows, double confidence,
                   std::optional<double> floor, Missed& missed) {
  const Objective objective(fitted);
  const Minimum best = search(fitted, kStarts).best;
  const Noise noise = noise_of(objective, best, confidence, floor);
  const double quantile = std::sqrt(noise.threshold());
  Window window;
  window.rows_fitted = static_cast<int>(fitted.rows.size());
  window.rows_tested = static_cast<int>(tested.size());
  for (const Row& row : fitted.rows) {
    window.fitted_to = std::max(window.fitted_to, compute_of(row.point));
  }
  double squares = 0, sum = 0;
  for (const Row& row : tested) {
    const double predicted = predict(*fitted.law, best.coefficients, best.exponents, row.point);
    const Interval interval = forecast_interval(objective, best, noise, row.point, row.weight);
    const double relative = row.loss / predicted - 1;
    squares += relative * relative;
    sum += relative;
    const bool covered = interval.holds(row.loss);
    window.covered += covered ? 1 : 0;
    window.outcomes.push_back({.name = rows.at(row.index).name,
                               .predicted = predicted,
                               .interval = interval,
                               .measured = row.loss,
                               .relative_error = relative,
                               .covered = covered});
    window.ratio = std::max(window.ratio, compute_of(row.point) / window.fitted_to);
    const double off = fitted.on_log ? std::log(row.loss / predicted) : row.loss - predicted;
    const auto& end = off > 0 ? interval.high : interval.low;
    if (!end) continue;
    const double half = fitted.on_log ? std::log(*end / predicted) : *end - predicted;
    missed.squares += off * off;
    missed.expected_squares += half * half / (quantile * quantile);
  }
  window.error = std::sqrt(squares / static_cast<double>(tested.size()));
  window.bias = sum / static_cast<double>(tested.size());
  return window;
}

}  // namespace

Gate run_gate(const Target& target, const std::vector<Observation>& rows, const FitOptions& options,
              const FitProgress& progress) {
  Gate gate;
  Target all = thinned(target, kRows, "rows of the gate");
  if (all.rows.size() < target.rows.size()) {
    gate.note = "tested on " + std::to_string(kRows) + " of " + std::to_string(target.rows.size()) +
                " rows, drawn once";
  }
  std::stable_sort(all.rows.begin(), all.rows.end(), [](const Row& a, const Row& b) {
    return compute_of(a.point) < compute_of(b.point);
  });
  if (all.rows.empty() || !(compute_of(all.rows.front().point) > 0)) {
    gate.note = "no hold-out: the rows have no C, nor N and D";
    return gate;
  }
  // Where a new budget begins, once there are enough rows below it.
  const auto least =
      std::max<size_t>(static_cast<size_t>(all.law->parameter_count()) + 2, all.rows.size() / 3);
  std::vector<size_t> begins;
  for (size_t i = std::max<size_t>(least, 1); i < all.rows.size(); ++i) {
    const double before = compute_of(all.rows[i - 1].point), here = compute_of(all.rows[i].point);
    if (here > kSameBudget * before) begins.push_back(i);
  }
  if (begins.empty()) {
    gate.note += std::string(gate.note.empty() ? "" : "; ") +
                 "no hold-out: " + std::to_string(all.rows.size()) +
                 " rows leave no larger budget once the law is fitted to the smaller ones";
    return gate;
  }
  std::vector<size_t> cuts;
  const size_t wanted = std::min(kCuts, begins.size());
  for (size_t c = 0; c < wanted; ++c) cuts.push_back(begins[c * begins.size() / wanted]);
  cuts.push_back(all.rows.size());
  Missed missed;
  for (size_t c = 0; c + 1 < cuts.size(); ++c) {
    if (progress) progress("hold-outs", static_cast<double>(c) / static_cast<double>(wanted));
    const auto at = [&](size_t index) {
      return all.rows.begin() + static_cast<std::ptrdiff_t>(index);
    };
    Target fitted = all;
    fitted.rows.assign(all.rows.begin(), at(cuts[c]));
    // An earlier checkpoint of a run would know the outcome of the run.
    std::set<int64_t> tested;
    for (auto row = at(cuts[c]); row != at(cuts[c + 1]); ++row) tested.insert(row->run);
    std::erase_if(fitted.rows,
                  [&](const Row& row) { return row.run != kOwnRun && tested.count(row.run) > 0; });
    try {
      const Window window = test_window(fitted, {at(cuts[c]), at(cuts[c + 1])}, rows,
                                        options.confidence, options.noise_floor, missed);
      gate.tested += window.rows_tested;
      gate.covered += window.covered;
      gate.tested_ratio = std::max(gate.tested_ratio, window.ratio);
      gate.windows.push_back(window);
    } catch (const base::Error& error) {
      gate.note += (gate.note.empty() ? "" : "; ") + std::string("no test beyond C = ") +
                   base::format_number(compute_of(all.rows[cuts[c] - 1].point), 4) + ": " +
                   error.what();
    }
  }
  if (gate.tested > 0) {
    gate.model_error = std::sqrt(std::max(0.0, missed.squares - missed.expected_squares) /
                                 static_cast<double>(gate.tested));
  }
  return gate;
}

}  // namespace windtunnel::scaling

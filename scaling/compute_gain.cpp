// The compute-equivalent gain of gain.h.

#include <algorithm>
#include <cmath>
#include <set>

#include "scaling/gain.h"
#include "scaling/identifiability.h"

namespace windtunnel::scaling {
namespace {

/// Factors beyond this are no statement.
constexpr double kFurthest = 1e4;

Point scaled(const Point& point, double factor) {
  const double root = std::sqrt(factor);
  return {point.parameters * root, point.tokens * root, point.flops * factor,
          point.unique_tokens * root};
}

/// Where `falling`, a function of ln k that falls, crosses 0 on the way from 0 to the furthest
/// factor on either side; nullopt if it does not.
template <class Falling>
std::optional<double> crossing(const Falling& falling) {
  constexpr double kClose = 1e-7;
  constexpr double kFirstStep = 0.05;
  const double limit = std::log(kFurthest);
  const double direction = falling(0) > 0 ? 1 : -1;
  double inside = 0, outside = 0;
  for (double step = kFirstStep;; step *= 2) {
    outside = direction * std::min(step, limit);
    if (falling(outside) * direction <= 0) break;
    if (step >= limit) return std::nullopt;
    inside = outside;
  }
  while (std::abs(outside - inside) > kClose) {
    const double middle = (inside + outside) / 2;
    (falling(middle) * direction > 0 ? inside : outside) = middle;
  }
  return std::exp((inside + outside) / 2);
}

/// Whether rows tell size from tokens: enough sizes, and tokens per parameter that vary.
bool has_ratios(const std::vector<Observation>& rows) {
  constexpr size_t kLeastRows = 8;
  std::set<double> sizes;
  double low = INFINITY, high = 0;
  for (const Observation& row : rows) {
    if (!row.parameters_active || !row.tokens) return false;
    sizes.insert(*row.parameters_active);
    low = std::min(low, *row.tokens / *row.parameters_active);
    high = std::max(high, *row.tokens / *row.parameters_active);
  }
  return rows.size() >= kLeastRows && sizes.size() >= static_cast<size_t>(kSizes) &&
         high >= kRangeOfSizes * low;
}

/// loss_nd where size and tokens vary apart, loss_c where its offset could be identified, else the
/// plain power law.
std::string law_for(const std::vector<Observation>& rows) {
  if (has_ratios(rows)) return "loss_nd";
  std::vector<double> budgets;
  for (const Observation& row : rows) budgets.push_back(row.flops.value_or(0));
  std::sort(budgets.begin(), budgets.end());
  const bool wide = std::log10(budgets.back() / budgets.front()) >= kDecadesForAnOffset;
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return wide && budgets.size() >= static_cast<size_t>(kBudgetsForAnOffset) ? "loss_c" : "power_c";
}

/// The baseline's runs at the rate that its size was judged by.
std::vector<Observation> rows_of_baseline(const std::vector<Observation>& rows,
                                          const GainVerdict& verdict) {
  std::vector<Observation> kept;
  for (const Observation& row : rows) {
    if (row.arm != verdict.baseline || !row.flops) continue;
    // By its place, not by C alone: on an iso-FLOP grid many sizes share that.
    const Point point = point_of(row);
    const auto judged =
        std::find_if(verdict.sizes.begin(), verdict.sizes.end(), [&](const SizeGain& size) {
          return same(point.flops, size.point.flops) &&
                 same(point.parameters, size.point.parameters) &&
                 same(point.tokens, size.point.tokens);
        });
    // Sizes that only the baseline was trained at are part of its law, too.
    const bool other_rate = judged != verdict.sizes.end() && row.learning_rate &&
                            judged->baseline.learning_rate &&
                            *row.learning_rate != *judged->baseline.learning_rate;
    if (!other_rate) kept.push_back(row);
  }
  return kept;
}

void add_compute_gains(const std::vector<Observation>& rows, const GainOptions& options,
                       GainVerdict& verdict) {
  const std::vector<Observation> baseline = rows_of_baseline(rows, verdict);
  try {
    const std::string law = options.law.empty() ? law_for(baseline) : options.law;
    require_fittable(baseline, law);
    const Target target = target_of(baseline, {.law = law});
    const Minimum best = search(target, 8).best;
    const Objective objective(target);
    const Noise noise = noise_of(objective, best, options.confidence, std::nullopt);
    for (SizeGain& size : verdict.sizes) {
      const double expected = predict(*target.law, best.coefficients, best.exponents, size.point);
      // Of the mean over pairs; where nothing measured it, two runs differ by the noise of both.
      const double of_pair = verdict.trend.noise.value_or(std::sqrt(2.0) * noise.one_run);
      const double of_gain =
          std::max(of_pair / std::sqrt(static_cast<double>(size.pairs)), 1e-3 * noise.one_run);
      const double weight = of_gain > 0 ? noise.one_run / of_gain : 1;
      size.compute_gain =
          compute_gain(target, best, noise, size.point, expected * std::exp(-size.gain), weight);
      if (!size.compute_gain) continue;
      const double spent = size.changed.flops / size.point.flops;
      size.compute_gain->factor /= spent;
      for (auto* end : {&size.compute_gain->interval.low, &size.compute_gain->interval.high}) {
        if (*end) **end /= spent;
      }
    }
    verdict.law = law;
  } catch (const base::Error& error) {
    verdict.law_problem = error.what();
  }
}

}  // namespace

std::optional<ComputeGain> compute_gain(const Target& target, const Minimum& best,
                                        const Noise& noise, const Point& point, double loss,
                                        double weight) {
  const Objective objective(target);
  const auto predicted = [&](double log_factor) {
    return predict(*target.law, best.coefficients, best.exponents,
                   scaled(point, std::exp(log_factor)));
  };
  const auto factor = crossing([&](double at) { return std::log(predicted(at) / loss); });
  if (!factor) return std::nullopt;
  ComputeGain result{.factor = *factor};
  const auto end = [&](std::optional<double> Interval::*side) {
    return crossing([&](double at) {
      const Interval interval =
          forecast_interval(objective, best, noise, scaled(point, std::exp(at)), weight);
      const auto& value = interval.*side;
      // An end that the rows do not bound is beyond any loss on its side.
      if (!value) return side == &Interval::low ? -1.0 : 1.0;
      return std::log(*value / loss);
    });
  };
  result.interval = {end(&Interval::low), end(&Interval::high)};
  double largest = 0;
  for (const Row& row : target.rows) largest = std::max(largest, compute_of(row.point));
  result.extrapolation_ratio = *factor * compute_of(point) / largest;
  return result;
}

GainVerdict compare_arms(const std::vector<Observation>& rows, const std::string& baseline,
                         const std::string& changed, const GainOptions& options) {
  GainVerdict verdict = judge_gain(gains_by_size(rows, baseline, changed), options);
  verdict.baseline = baseline;
  verdict.changed = changed;
  verdict.loss_unit = rows.front().loss_unit;
  if (const auto alone = sizes_of_one_arm(rows, baseline, changed); !alone.empty()) {
    verdict.caveats.push_back("only one of the arms was trained at " + some_of(alone) +
                              ": in no gain");
  }
  add_compute_gains(rows, options, verdict);
  return verdict;
}

}  // namespace windtunnel::scaling

#include "scaling/rate_search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"

namespace windtunnel::scaling {
namespace {

std::string rate_text(double rate) { return base::format_number(rate, 4); }

int index_on_grid(double base_rate, double rate, const RateGridConfig& grid) {
  return static_cast<int>(std::lround(std::log(rate / base_rate) / std::log(grid.factor)));
}

/// Rates stand in run ids: few digits, and the same number whoever computes it.
double on_grid(double base_rate, int index, const RateGridConfig& grid) {
  return std::strtod(rate_text(base_rate * std::pow(grid.factor, index)).c_str(), nullptr);
}

/// Vertex of the parabola through three points; the middle one is the lowest.
double vertex(const double (&x)[3], const double (&y)[3]) {
  const double left = (y[1] - y[0]) / (x[1] - x[0]);
  const double right = (y[2] - y[1]) / (x[2] - x[1]);
  const double curvature = (right - left) / (x[2] - x[0]);
  if (!(curvature > 0)) return x[1];
  return (x[0] + x[1]) / 2 - left / (2 * curvature);
}

bool counts(const RateTrial& trial) {
  return trial.state == RateTrial::State::kMeasured || trial.state == RateTrial::State::kDiverged;
}

/// The next trial on a side of `best` that tells something.
const RateTrial* neighbour(const std::vector<RateTrial>& trials, size_t best, int direction) {
  for (auto i = static_cast<std::ptrdiff_t>(best) + direction;
       i >= 0 && i < static_cast<std::ptrdiff_t>(trials.size()); i += direction) {
    const RateTrial& trial = trials[static_cast<size_t>(i)];
    if (counts(trial)) return &trial;
  }
  return nullptr;
}

double optimum_of(const RateTrial* lower, const RateTrial& best, const RateTrial* upper) {
  for (const RateTrial* side : {lower, upper}) {
    if (side == nullptr || side->state != RateTrial::State::kMeasured) return best.rate;
  }
  return std::exp(vertex({std::log(lower->rate), std::log(best.rate), std::log(upper->rate)},
                         {std::log(lower->loss), std::log(best.loss), std::log(upper->loss)}));
}

}  // namespace

RateRule::RateRule(SizeAndRate base, const std::vector<SizeAndRate>& optima, double exponent,
                   const RateGridConfig& grid) {
  const double prior_precision = 1 / (grid.exponent_sd * grid.exponent_sd);
  // Variance of a uniform draw from an interval of one step: step^2 / 12.
  const double step = std::log(grid.factor);
  const double variance = step * step / 12;
  const std::vector<SizeAndRate> points = optima.empty() ? std::vector{base} : optima;
  const auto count = static_cast<double>(points.size());
  for (const SizeAndRate& point : points) {
    mean_log_size_ += std::log(point.parameters) / count;
    mean_log_rate_ += std::log(point.rate) / count;
  }
  double squares = 0;
  double products = 0;
  for (const SizeAndRate& point : points) {
    const double size = std::log(point.parameters) - mean_log_size_;
    squares += size * size;
    products += size * (std::log(point.rate) - mean_log_rate_);
  }
  slope_variance_ = 1 / (squares / variance + prior_precision);
  slope_ = (products / variance + exponent * prior_precision) * slope_variance_;
  mean_variance_ = variance / count;
}

double RateRule::rate(double parameters) const {
  return std::exp(mean_log_rate_ + slope_ * (std::log(parameters) - mean_log_size_));
}

double RateRule::log_sd(double parameters) const {
  const double distance = std::log(parameters) - mean_log_size_;
  return std::sqrt(mean_variance_ + distance * distance * slope_variance_);
}

std::vector<double> rate_grid(double base_rate, double wanted, const RateGridConfig& grid) {
  const int middle = index_on_grid(base_rate, wanted, grid);
  std::vector<double> rates;
  for (int k = middle - grid.points / 2; k <= middle + grid.points / 2; ++k) {
    const double rate = on_grid(base_rate, k, grid);
    if (rate <= kLargestRate) rates.push_back(rate);
  }
  return rates;
}

RateChoice choose_rate(const std::vector<RateTrial>& trials, double base_rate,
                       const RateGridConfig& grid) {
  RateChoice choice;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].state == RateTrial::State::kPending) return choice;
    if (trials[i].state != RateTrial::State::kMeasured) continue;
    if (!choice.best || trials[i].loss < trials[*choice.best].loss) choice.best = i;
  }
  choice.settled = true;
  if (!choice.best) {
    choice.note = "no rate of its grid gave a loss";
    return choice;
  }
  const size_t at = *choice.best;
  const RateTrial& best = trials[at];
  const RateTrial* lower = neighbour(trials, at, -1);
  const RateTrial* upper = neighbour(trials, at, +1);
  choice.optimum = optimum_of(lower, best, upper);
  const std::string span = rate_text(trials.front().rate) + " to " + rate_text(trials.back().rate);
  if (lower != nullptr && upper != nullptr) {
    choice.status = rate_status::kTuned;
    choice.note = "best of " + std::to_string(trials.size()) + " rates from " + span +
                  ", minimum near " + base::format_number(choice.optimum, 3);
    return choice;
  }
  choice.status = rate_status::kEdge;
  const bool at_top = upper == nullptr;
  choice.note = "the best, " + rate_text(best.rate) + ", is at the " +
                (at_top ? "upper" : "lower") + " edge of the grid from " + span;
  const double beyond =
      on_grid(base_rate, index_on_grid(base_rate, best.rate, grid) + (at_top ? 1 : -1), grid);
  const bool tried = std::any_of(trials.begin(), trials.end(),
                                 [&](const RateTrial& trial) { return trial.rate == beyond; });
  const int extended = static_cast<int>(trials.size()) - grid.points;
  if (tried) {
    choice.note += "; " + rate_text(beyond) + " did not end in a loss";
  } else if (beyond > kLargestRate) {
    choice.note += ", which ends at the largest rate there is";
  } else if (extended >= grid.extensions) {
    choice.note += " after " + std::to_string(std::max(extended, 0)) +
                   " extensions; the optimum lies beyond (ladder.learning_rates.extensions)";
  } else {
    choice.next = beyond;
    choice.settled = false;
    choice.note += "; " + rate_text(beyond) + " is tried next";
  }
  return choice;
}

}  // namespace windtunnel::scaling

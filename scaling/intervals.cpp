#include "scaling/intervals.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "base/random.h"

namespace windtunnel::scaling {
namespace {

/// Where `excess`, negative at `inside`, crosses 0 on the way from `inside` in steps that double,
/// or nullopt if it does not before `limit`.
std::optional<double> crossing(const std::function<double(double)>& excess, double inside,
                               double step, double limit) {
  const double direction = limit > inside ? 1 : -1;
  double from = inside;
  double at_from = excess(inside);
  if (at_from >= 0) return inside;
  for (double width = step;; width *= 2) {
    double to = inside + direction * width;
    const bool at_limit = (limit - to) * direction <= 0;
    if (at_limit) to = limit;
    const double at_to = excess(to);
    if (at_to >= 0) {
      const double low = std::min(from, to), high = std::max(from, to);
      uintmax_t iterations = 60;
      const auto close = [&](double a, double b) {
        return std::abs(b - a) <= 1e-6 * (1e-6 + std::abs(b - inside));
      };
      const auto root =
          boost::math::tools::toms748_solve(excess, low, high, direction > 0 ? at_from : at_to,
                                            direction > 0 ? at_to : at_from, close, iterations);
      return (root.first + root.second) / 2;
    }
    if (at_limit) return std::nullopt;
    from = to;
    at_from = at_to;
  }
}

/// Rise of the objective over the best in units of the noise, minus what is allowed. Each call
/// starts from where the one before ended.
class Excess {
 public:
  Excess(const Minimum& best, const Noise& noise)
      : best_(best), noise_(noise), threshold_(noise.threshold()), last_(best) {}

  double operator()(const Target& target, const Pins& pins) {
    Minimum found = minimise(target, pins, last_);
    if (!found.converged) found = minimise(target, pins, best_);
    if (!found.converged) return threshold_;
    last_ = found;
    return 2 * (found.objective - best_.objective) / noise_.variance - threshold_;
  }

 private:
  const Minimum& best_;
  const Noise& noise_;
  double threshold_;
  Minimum last_;
};

Interval around(const Target& target, const Minimum& best, const Noise& noise, const Point& point,
                double weight) {
  const double predicted = predict(*target.law, best.coefficients, best.exponents, point);
  if (noise.variance == 0) return {predicted, predicted};
  const double centre = target.on_log ? std::log(predicted) : predicted;
  const double step = std::sqrt(noise.threshold()) * noise.one_run;
  Interval interval;
  for (const int direction : {-1, 1}) {
    Excess excess(best, noise);
    Target more = target;
    more.rows.push_back({.point = point, .weight = weight, .robust = false});
    const auto rise = [&](double trial) {
      more.rows.back().loss = target.on_log ? std::exp(trial) : trial;
      return excess(more, {});
    };
    const double limit = target.on_log ? centre + direction * 20
                                       : (direction < 0 ? predicted * 1e-6 : predicted * 1e3);
    const auto found = crossing(rise, centre, step, limit);
    auto& end = direction < 0 ? interval.low : interval.high;
    if (found) end = target.on_log ? std::exp(*found) : *found;
  }
  return interval;
}

double quantile_of(std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double Noise::threshold() const {
  const boost::math::students_t student(degrees_of_freedom);
  const double t = boost::math::quantile(student, (1 + confidence) / 2);
  return t * t;
}

Noise noise_of(const Target& target, const Minimum& best, double confidence,
               std::optional<double> floor) {
  const auto rows = static_cast<double>(target.rows.size());
  Noise noise;
  noise.confidence = confidence;
  noise.degrees_of_freedom = static_cast<int>(target.rows.size()) - target.law->parameter_count();
  if (noise.degrees_of_freedom < 1) {
    throw base::Error("as many parameters as rows leave nothing to judge the noise by: " +
                      std::to_string(target.law->parameter_count()) + " parameters, " +
                      std::to_string(target.rows.size()) + " rows; add rows");
  }
  double squares = 0, clipped_squares = 0, quadratic = 0;
  for (const double r : residuals(target, best)) {
    const double delta = target.huber_delta.value_or(INFINITY);
    squares += r * r;
    clipped_squares += std::min(r * r, delta * delta);
    quadratic += std::abs(r) <= delta ? 1 : 0;
  }
  if (quadratic == 0) {
    throw base::Error("no residual lies within huber_delta; raise it to about the noise of a run");
  }
  noise.one_run = std::sqrt(squares / noise.degrees_of_freedom);
  noise.variance = clipped_squares / noise.degrees_of_freedom / (quadratic / rows);
  if (floor && *floor > noise.one_run) {
    noise.variance = std::max(noise.variance, *floor * *floor);
    noise.one_run = *floor;
  }
  // Below this the residuals are rounding errors of exact data.
  if (noise.one_run < 1e-9) noise.variance = noise.one_run = 0;
  return noise;
}

Interval profile_interval(const Target& target, const Minimum& best, const Noise& noise,
                          const std::string& parameter) {
  const Law& law = *target.law;
  Pins pins;
  pins.coefficients.resize(law.coefficients.size());
  pins.exponents.resize(law.exponents.size());
  std::optional<double>* pin = nullptr;
  double value = 0;
  bool may_vanish = false;
  // Trial values on a logarithmic scale, but for an offset, whose interval may reach 0.
  double low_limit = -200, high_limit = 200;
  for (size_t k = 0; k < law.coefficients.size(); ++k) {
    if (law.coefficients[k].name != parameter) continue;
    pin = &pins.coefficients[k];
    value = best.coefficients[k];
    may_vanish = law.coefficients[k].may_vanish;
  }
  for (size_t j = 0; j < law.exponents.size(); ++j) {
    if (law.exponents[j].name != parameter) continue;
    pin = &pins.exponents[j];
    value = best.exponents[j];
    low_limit = std::log(law.exponents[j].minimum);
    high_limit = std::log(law.exponents[j].maximum);
  }
  base::check(pin != nullptr, "a profile of a parameter that the law does not have");
  if (noise.variance == 0) return {value, value};

  double step = 0.02;
  const double inside = may_vanish ? value : std::log(value);
  if (may_vanish) {
    double largest = 0;
    for (const Row& row : target.rows) largest = std::max(largest, row.loss);
    low_limit = 0;
    high_limit = 2 * largest;
    step = 0.01 * largest;
  }
  Interval interval;
  for (const bool upper : {false, true}) {
    Excess excess(best, noise);
    const auto rise = [&](double trial) {
      *pin = may_vanish ? trial : std::exp(trial);
      return excess(target, pins);
    };
    auto& end = upper ? interval.high : interval.low;
    const double limit = upper ? high_limit : low_limit;
    if (inside == limit) {
      end = value;
      continue;
    }
    const auto found = crossing(rise, inside, step, limit);
    if (found) end = may_vanish ? *found : std::exp(*found);
    if (!found && may_vanish && !upper) end = 0;
  }
  return interval;
}

Interval forecast_interval(const Target& target, const Minimum& best, const Noise& noise,
                           const Point& point) {
  // In units of s, so that the new run counts as least squares whatever the objective is.
  const double weight = noise.variance == 0 ? 1 : std::sqrt(noise.variance) / noise.one_run;
  return around(target, best, noise, point, weight);
}

Interval mean_interval(const Target& target, const Minimum& best, const Noise& noise,
                       const Point& point) {
  // A row so heavy that the law all but passes through it: it adds a thousandth of a run's variance
  // to the law's own. A much heavier one would make the solver crawl along a curved valley.
  return around(target, best, noise, point, std::sqrt(1000.0));
}

Bootstrap bootstrap(const Target& target, int draws, double confidence, uint64_t seed) {
  std::map<std::string, std::vector<Row>> runs;
  for (const Row& row : target.rows) runs[row.name].push_back(row);
  std::vector<const std::vector<Row>*> clusters;
  for (const auto& [name, rows] : runs) clusters.push_back(&rows);

  base::RandomStream random(seed, "bootstrap");
  const auto parameters = static_cast<size_t>(target.law->parameter_count());
  std::vector<std::vector<double>> values(parameters);
  Bootstrap result;
  result.draws = draws;
  for (int draw = 0; draw < draws; ++draw) {
    Target sample = target;
    sample.rows.clear();
    std::set<std::vector<double>> points;
    for (size_t c = 0; c < clusters.size(); ++c) {
      for (const Row& row : *clusters[random.below(clusters.size())]) {
        sample.rows.push_back(row);
        std::vector<double> where;
        for (const Variable v : target.law->variables) where.push_back(value_of(row.point, v));
        points.insert(where);
      }
    }
    if (points.size() < parameters) {
      ++result.failures;
      continue;
    }
    try {
      const Minimum best = search(sample, 2).best;
      for (size_t p = 0; p < parameters; ++p) {
        const size_t coefficients = best.coefficients.size();
        values[p].push_back(p < coefficients ? best.coefficients[p]
                                             : best.exponents[p - coefficients]);
      }
    } catch (const base::Error&) {
      ++result.failures;
    }
  }
  for (auto& sample : values) {
    if (sample.empty()) {
      result.intervals.push_back({});
      continue;
    }
    std::sort(sample.begin(), sample.end());
    result.intervals.push_back(
        {quantile_of(sample, (1 - confidence) / 2), quantile_of(sample, (1 + confidence) / 2)});
  }
  return result;
}

}  // namespace windtunnel::scaling

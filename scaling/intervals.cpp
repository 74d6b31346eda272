#include "scaling/intervals.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <map>

#include "base/random.h"

namespace windtunnel::scaling {
namespace {

/// Stands for a rise that no descent could tell: far above any level.
constexpr double kUnknownRise = 1e6;

/// How far the objective has risen over the best: the square root of 2 rise / s^2. It is all but a
/// straight line in a parameter, so that few evaluations find where it reaches Student's quantile.
class Rise {
 public:
  Rise(const Minimum& best, const Noise& noise)
      : best_(best), variance_(noise.variance), last_(best) {}

  /// Each call starts from where the one before ended.
  double operator()(const Objective& objective, const Pins& pins) {
    Minimum found = objective.descend(pins, last_);
    if (!found.converged) found = objective.descend(pins, best_);
    if (!found.converged) return kUnknownRise;
    last_ = found;
    return std::sqrt(std::max(0.0, 2 * (found.objective - best_.objective) / variance_));
  }

 private:
  const Minimum& best_;
  double variance_;
  Minimum last_;
};

/// Where `rise`, 0 at `inside`, reaches `level` on the way to `limit`; nullopt if it does not, or
/// jumps from below to a rise that is not known.
std::optional<double> crossing(const std::function<double(double)>& rise, double inside,
                               double step, double limit, double level) {
  constexpr double kClose = 1e-5;
  const double direction = limit > inside ? 1 : -1;
  double below = inside, at_below = 0, above = limit, at_above = 0;
  bool bracketed = false;
  double width = step;
  for (int evaluation = 0; evaluation < 100; ++evaluation) {
    double trial = inside + direction * width;
    const bool at_limit = (limit - trial) * direction <= 0;
    if (at_limit) trial = limit;
    const double found = rise(trial);
    if (std::abs(found - level) <= kClose * level) return trial;
    if (found < level) {
      if (at_limit && !bracketed) return std::nullopt;
      below = trial;
      at_below = found;
    } else {
      above = trial;
      at_above = found;
      bracketed = true;
    }
    if (bracketed) {
      if (std::abs(above - below) <= 1e-9 * (std::abs(above - inside) + 1e-300)) {
        return at_above < kUnknownRise ? std::optional(above) : std::nullopt;
      }
      double share = (level - at_below) / (at_above - at_below);
      // Every third step halves, in case the line is bent.
      if (evaluation % 3 == 2) share = 0.5;
      width = std::abs(below + std::clamp(share, 0.02, 0.98) * (above - below) - inside);
    } else {
      width =
          std::abs(trial - inside) * std::clamp(1.05 * level / std::max(found, 1e-12), 1.3, 8.0);
    }
  }
  return at_above < kUnknownRise ? std::optional((below + above) / 2) : std::nullopt;
}

Interval around(const Objective& objective, const Minimum& best, const Noise& noise,
                const Point& point, double weight) {
  const double predicted = predict(objective.law(), best.coefficients, best.exponents, point);
  if (noise.variance == 0) return {predicted, predicted};
  const bool on_log = objective.on_log();
  const double centre = on_log ? std::log(predicted) : predicted;
  const double level = std::sqrt(noise.threshold());
  Objective more = objective.with_row(point, predicted, weight);
  Interval interval;
  for (const int direction : {-1, 1}) {
    Rise rise(best, noise);
    const auto at = [&](double trial) {
      more.set_loss(objective.rows(), on_log ? std::exp(trial) : trial);
      return rise(more, {});
    };
    const double limit =
        on_log ? centre + direction * 20 : (direction < 0 ? predicted * 1e-6 : predicted * 1e3);
    const auto found = crossing(at, centre, level * noise.one_run, limit, level);
    auto& end = direction < 0 ? interval.low : interval.high;
    if (found) end = on_log ? std::exp(*found) : *found;
  }
  return interval;
}

/// A few exponents spread over the grid of starts.
std::vector<std::vector<double>> coarse_grid(const Law& law) {
  const size_t steps = law.exponents.size() <= 2 ? 5 : 3;
  std::vector<std::vector<double>> grid = {{}};
  for (const Exponent& exponent : law.exponents) {
    std::vector<std::vector<double>> longer;
    for (const auto& begun : grid) {
      for (size_t step = 0; step < steps; ++step) {
        const double share = (static_cast<double>(step) + 0.5) / static_cast<double>(steps);
        longer.push_back(begun);
        longer.back().push_back(exponent.grid_low *
                                std::pow(exponent.grid_high / exponent.grid_low, share));
      }
    }
    grid = std::move(longer);
  }
  return grid;
}

}  // namespace

Interval shown_interval(const Exponent& exponent, const Interval& interval) {
  if (!exponent.shown_negative) return interval;
  Interval shown;
  if (interval.high) shown.low = -*interval.high;
  if (interval.low) shown.high = -*interval.low;
  return shown;
}

double quantile_of(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

double Noise::threshold() const {
  const boost::math::students_t student(degrees_of_freedom);
  const double t = boost::math::quantile(student, (1 + confidence) / 2);
  return t * t;
}

namespace {

/// Where rows share runs: see intervals.h.
void add_design_effect(const Objective& objective, const Minimum& best,
                       const std::vector<double>& residuals, Noise& noise) {
  if (objective.runs().empty()) return;
  const Law& law = objective.law();
  std::vector<long> free;
  for (size_t p = 0; p < static_cast<size_t>(law.parameter_count()); ++p) {
    const bool is_zero = p < best.coefficients.size() && best.coefficients[p] == 0;
    if (!is_zero) free.push_back(static_cast<long>(p));
  }
  const auto size = static_cast<long>(free.size());
  const double delta = objective.huber_delta().value_or(INFINITY);
  Eigen::MatrixXd information = Eigen::MatrixXd::Zero(size, size), scatter = information;
  std::map<int64_t, Eigen::VectorXd> scores;
  int64_t runs = 0;
  objective.visit_gradients(best, [&](size_t row, const double* gradient) {
    const double weight = objective.weights()[row], loss = objective.losses()[row];
    const double scale = weight * (objective.on_log() ? 1 : loss);
    Eigen::VectorXd slope(size);
    for (long f = 0; f < size; ++f) slope(f) = scale * gradient[free[static_cast<size_t>(f)]];
    if (std::abs(residuals[row]) <= delta) information += slope * slope.transpose();
    const Eigen::VectorXd score = std::clamp(residuals[row], -delta, delta) * slope;
    const int64_t run = row < objective.runs().size() ? objective.runs()[row] : kOwnRun;
    if (run == kOwnRun) {
      scatter += score * score.transpose();
      ++runs;
    } else {
      const auto [at, is_new] = scores.emplace(run, score);
      if (!is_new) at->second += score;
    }
  });
  runs += static_cast<int64_t>(scores.size());
  if (runs == static_cast<int64_t>(residuals.size())) return;
  for (const auto& [run, score] : scores) scatter += score * score.transpose();
  const int64_t left = std::max<int64_t>(1, runs - law.parameter_count());
  noise.degrees_of_freedom = std::min(noise.degrees_of_freedom, static_cast<int>(left));
  const Eigen::LDLT<Eigen::MatrixXd> factor(information);
  if (factor.info() != Eigen::Success || !factor.isPositive()) return;
  const Eigen::MatrixXd inverse = factor.solve(Eigen::MatrixXd::Identity(size, size));
  const Eigen::MatrixXd robust = inverse * scatter * inverse;
  for (long f = 0; f < size; ++f) {
    const double effect = robust(f, f) * static_cast<double>(runs) / static_cast<double>(left) /
                          (noise.variance * inverse(f, f));
    if (std::isfinite(effect)) noise.design_effect = std::max(noise.design_effect, effect);
  }
  noise.variance *= noise.design_effect;
}

}  // namespace

Noise noise_of(const Objective& objective, const Minimum& best, double confidence,
               std::optional<double> floor) {
  const auto rows = static_cast<double>(objective.rows());
  const int parameters = objective.law().parameter_count();
  Noise noise;
  noise.confidence = confidence;
  noise.degrees_of_freedom = static_cast<int>(objective.rows()) - parameters;
  if (noise.degrees_of_freedom < 1) {
    throw base::Error("as many parameters as rows leave nothing to judge the noise by: " +
                      std::to_string(parameters) + " parameters, " +
                      std::to_string(objective.rows()) + " rows; add rows");
  }
  double squares = 0, clipped_squares = 0, quadratic = 0;
  // Weighted, as the objective counts them: rows of all weights then scatter alike.
  std::vector<double> residuals = objective.residuals(best);
  for (size_t i = 0; i < residuals.size(); ++i) residuals[i] *= objective.weights()[i];
  for (const double r : residuals) {
    const double delta = objective.huber_delta().value_or(INFINITY);
    squares += r * r;
    clipped_squares += std::min(r * r, delta * delta);
    quadratic += std::abs(r) <= delta ? 1 : 0;
  }
  if (quadratic == 0) {
    throw base::Error("no residual lies within huber_delta; raise it to about the noise of a run");
  }
  noise.one_run = std::sqrt(squares / noise.degrees_of_freedom);
  const double share = quadratic / rows;
  const double few_rows = 1 + parameters / rows * (1 - share) / share;
  noise.variance = few_rows * few_rows * clipped_squares / noise.degrees_of_freedom / share;
  add_design_effect(objective, best, residuals, noise);
  if (floor && *floor > noise.one_run) {
    noise.variance = std::max(noise.variance, *floor * *floor);
    noise.one_run = *floor;
  }
  // Below this the residuals are rounding errors of exact data.
  const double scale = objective.on_log() ? 1 : objective.smallest_loss();
  if (noise.one_run < 1e-9 * scale) noise.variance = noise.one_run = 0;
  return noise;
}

namespace {

/// A parameter on the scale of its trial values: logarithmic, but for an offset, whose interval may
/// reach 0.
class Profiled {
 public:
  Profiled(const Objective& objective, const Minimum& best, const std::string& parameter) {
    const Law& law = objective.law();
    pins_.coefficients.resize(law.coefficients.size());
    pins_.exponents.resize(law.exponents.size());
    for (size_t k = 0; k < law.coefficients.size(); ++k) {
      if (law.coefficients[k].name != parameter) continue;
      index_ = k;
      pin_ = &pins_.coefficients[k];
      value_ = best.coefficients[k];
      may_vanish_ = law.coefficients[k].may_vanish;
    }
    for (size_t j = 0; j < law.exponents.size(); ++j) {
      if (law.exponents[j].name != parameter) continue;
      index_ = law.coefficients.size() + j;
      pin_ = &pins_.exponents[j];
      value_ = best.exponents[j];
      exponent_ = &law.exponents[j];
      low_limit = std::log(law.exponents[j].minimum);
      high_limit = std::log(law.exponents[j].maximum);
    }
    base::check(pin_ != nullptr, "a profile of a parameter that the law does not have");
    if (!may_vanish_) return;
    double largest = 0;
    for (const double loss : objective.losses()) largest = std::max(largest, loss);
    low_limit = 0;
    high_limit = 2 * largest;
    step_ = 0.01 * largest;
  }
  Profiled(const Profiled&) = delete;
  Profiled& operator=(const Profiled&) = delete;

  double value() const { return value_; }
  bool may_vanish() const { return may_vanish_; }
  double inside() const { return may_vanish_ ? value_ : std::log(value_); }
  double value_of_trial(double trial) const { return may_vanish_ ? trial : std::exp(trial); }
  double trial_of_value(double value) const { return may_vanish_ ? value : std::log(value); }
  double shown(double value) const { return exponent_ ? shown_value(*exponent_, value) : value; }
  const Pins& pinned_at(double trial) {
    *pin_ = value_of_trial(trial);
    return pins_;
  }

  /// Where the rise reaches `level` by the curvature alone, which few trials then correct.
  double first_step(const Objective& objective, const Minimum& best, const Noise& noise,
                    double level) const {
    const auto error = objective.standard_error(best, index_);
    if (!error) return step_;
    const double distance = level * std::sqrt(noise.variance) * *error;
    if (may_vanish_) return std::min(value_ * distance, high_limit);
    // No further than a factor of e at once: where little is known, the curvature knows less.
    return std::min(exponent_ ? distance / value_ : distance, 1.0);
  }

  double low_limit = -200;
  double high_limit = 200;

 private:
  double step_ = 0.02;
  size_t index_ = 0;
  Pins pins_;
  std::optional<double>* pin_ = nullptr;
  const Exponent* exponent_ = nullptr;
  double value_ = 0;
  bool may_vanish_ = false;
};

}  // namespace

Interval profile_interval(const Objective& objective, const Minimum& best, const Noise& noise,
                          const std::string& parameter) {
  Profiled profiled(objective, best, parameter);
  if (noise.variance == 0) return {profiled.value(), profiled.value()};
  const double inside = profiled.inside();
  const double level = std::sqrt(noise.threshold());
  const double step = profiled.first_step(objective, best, noise, level);
  Interval interval;
  for (const bool upper : {false, true}) {
    Rise rise(best, noise);
    const auto at = [&](double trial) { return rise(objective, profiled.pinned_at(trial)); };
    auto& end = upper ? interval.high : interval.low;
    const double limit = upper ? profiled.high_limit : profiled.low_limit;
    if (inside == limit) {
      end = profiled.value();
      continue;
    }
    const auto found = crossing(at, inside, step, limit, level);
    if (found) end = profiled.value_of_trial(*found);
    if (!found && profiled.may_vanish() && !upper) end = 0;
  }
  return interval;
}

std::vector<std::pair<double, double>> profile_curve(const Objective& objective,
                                                     const Minimum& best, const Noise& noise,
                                                     const std::string& parameter) {
  constexpr int kPoints = 41;
  constexpr double kBeyond = 1.3;
  const Interval interval = profile_interval(objective, best, noise, parameter);
  if (noise.variance == 0 || !interval.low || !interval.high) return {};
  Profiled profiled(objective, best, parameter);
  const double inside = profiled.inside();
  const double low = inside + kBeyond * (profiled.trial_of_value(*interval.low) - inside);
  const double high = inside + kBeyond * (profiled.trial_of_value(*interval.high) - inside);
  std::vector<std::pair<double, double>> curve;
  for (int i = 0; i < kPoints; ++i) {
    const double trial =
        std::clamp(low + (high - low) * i / (kPoints - 1), profiled.low_limit, profiled.high_limit);
    Rise rise(best, noise);
    curve.emplace_back(profiled.shown(profiled.value_of_trial(trial)),
                       rise(objective, profiled.pinned_at(trial)));
  }
  return curve;
}

Interval forecast_interval(const Objective& objective, const Minimum& best, const Noise& noise,
                           const Point& point, double weight) {
  // In units of s, so that the new run counts as least squares whatever the objective is.
  const double unit = noise.variance == 0 ? 1 : std::sqrt(noise.variance) / noise.one_run;
  return around(objective, best, noise, point, unit * weight);
}

Interval mean_interval(const Objective& objective, const Minimum& best, const Noise& noise,
                       const Point& point) {
  // A row so heavy that the law all but passes through it: it adds a thousandth of a run's variance
  // to the law's own. A much heavier one would make the descent crawl along a curved valley.
  return around(objective, best, noise, point, std::sqrt(1000.0));
}

Bootstrap bootstrap(const Target& target, const Minimum& best, int draws, double confidence,
                    uint64_t seed, const FitProgress& progress) {
  const Law& law = *target.law;
  std::vector<std::vector<size_t>> clusters;
  std::map<int64_t, size_t> cluster_of_run;
  std::map<std::vector<double>, size_t> point_numbers;
  std::vector<size_t> point_of_row;
  for (size_t i = 0; i < target.rows.size(); ++i) {
    const int64_t run = target.rows[i].run;
    const bool joins = run != kOwnRun && !cluster_of_run.emplace(run, clusters.size()).second;
    if (!joins) clusters.emplace_back();
    (joins ? clusters[cluster_of_run[run]] : clusters.back()).push_back(i);
    std::vector<double> where;
    for (const Variable v : law.variables) where.push_back(value_of(target.rows[i].point, v));
    point_of_row.push_back(point_numbers.emplace(where, point_numbers.size()).first->second);
  }
  const std::vector<std::vector<double>> grid = coarse_grid(law);

  Objective objective(target);
  base::RandomStream random(seed, "bootstrap");
  const auto parameters = static_cast<size_t>(law.parameter_count());
  Bootstrap result;
  result.draws = draws;
  std::vector<int> seen_in_draw(point_numbers.size(), -1);
  std::vector<double> counts(target.rows.size());
  for (int draw = 0; draw < draws; ++draw) {
    if (progress) progress("bootstrap", static_cast<double>(draw) / draws);
    std::fill(counts.begin(), counts.end(), 0.0);
    size_t points = 0;
    for (size_t c = 0; c < clusters.size(); ++c) {
      for (const size_t row : clusters[random.below(clusters.size())]) {
        ++counts[row];
        int& seen = seen_in_draw[point_of_row[row]];
        if (seen != draw) ++points;
        seen = draw;
      }
    }
    objective.set_counts(counts);
    Minimum found;
    if (points >= parameters) {
      found = objective.descend({}, best);
      // Another basin is looked for where the grid has a projection better than that of what was
      // found: beside it, none is, unless the minimum has moved elsewhere.
      Minimum start;
      if (found.converged) start = objective.project({}, found.exponents);
      bool elsewhere = false;
      for (const auto& exponents : grid) {
        Minimum projected = objective.project({}, exponents);
        if (!projected.converged) continue;
        if (start.converged && !(projected.objective < start.objective)) continue;
        start = std::move(projected);
        elsewhere = true;
      }
      if (elsewhere) {
        const Minimum other = objective.descend({}, start);
        if (other.converged && (!found.converged || other.objective < found.objective)) {
          found = other;
        }
      }
    }
    if (found.converged) {
      result.minima.push_back(std::move(found));
    } else {
      ++result.failures;
    }
  }
  for (size_t p = 0; p < parameters; ++p) {
    std::vector<double> values;
    for (const Minimum& minimum : result.minima) {
      const size_t coefficients = minimum.coefficients.size();
      values.push_back(p < coefficients ? minimum.coefficients[p]
                                        : minimum.exponents[p - coefficients]);
    }
    result.intervals.emplace_back();
    if (values.empty()) continue;
    result.intervals.back().low = quantile_of(values, (1 - confidence) / 2);
    result.intervals.back().high = quantile_of(values, (1 + confidence) / 2);
  }
  return result;
}

}  // namespace windtunnel::scaling

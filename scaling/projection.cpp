// Variable projection: the part of Objective (objective.h) that makes starts.

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "scaling/objective.h"
#include "scaling/objective_terms.h"

namespace windtunnel::scaling {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Minimum Objective::project(const Pins& pins, const std::vector<double>& exponents) const {
  const auto terms = static_cast<unsigned>(columns_.terms);
  std::array<double, Law::kMaximumTerms * Law::kMaximumTerms> products;
  std::array<double, Law::kMaximumTerms> by_loss;
  double squares = 0;
  fill_terms(exponents.data());
  sum_products(columns_, losses_, relative_weight_, exponents.data(), products.data(),
               by_loss.data(), &squares);
  LogTerms centre;
  Slopes unused;
  law_->log_terms(middle_, exponents.data(), centre.data(), unused.data());
  const auto product = [&](unsigned a, unsigned b) { return products[a * Law::kMaximumTerms + b]; };

  Minimum best;
  best.exponents = exponents;
  best.objective = kInfinity;
  // Every subset of the few coefficients, all of them first; the others are 0, which only some may
  // be. If none of all wants to be negative, no subset is better.
  bool all_positive = false;
  for (unsigned left = 1u << terms; left > 0 && !all_positive; --left) {
    const unsigned subset = left - 1;
    std::array<unsigned, Law::kMaximumTerms> chosen;
    Vector value = Vector::Zero(static_cast<int>(terms));
    int size = 0;
    bool allowed = true, whole = true;
    for (unsigned k = 0; k < terms; ++k) {
      const bool in = (subset >> k & 1u) != 0;
      if (const auto pin = pin_of(pins.coefficients, k)) {
        allowed = allowed && !in;
        value(static_cast<int>(k)) = *pin * std::exp(centre[k]);
      } else if (in) {
        chosen[static_cast<size_t>(size++)] = k;
      } else {
        allowed = allowed && law_->coefficients[k].may_vanish;
        whole = false;
      }
    }
    if (!allowed) continue;
    if (size > 0) {
      Matrix normal(size, size);
      Vector right(size);
      for (int a = 0; a < size; ++a) {
        const unsigned p = chosen[static_cast<size_t>(a)];
        right(a) = by_loss[p];
        for (unsigned k = 0; k < terms; ++k) right(a) -= product(p, k) * value(static_cast<int>(k));
        for (int b = 0; b < size; ++b) normal(a, b) = product(p, chosen[static_cast<size_t>(b)]);
      }
      const Vector solved = normal.ldlt().solve(right);
      if (!(solved.minCoeff() > 0) || !solved.allFinite()) continue;
      for (int a = 0; a < size; ++a)
        value(static_cast<int>(chosen[static_cast<size_t>(a)])) = solved(a);
    }
    all_positive = whole;
    double objective = squares;
    for (unsigned k = 0; k < terms; ++k) {
      const double at = value(static_cast<int>(k));
      objective -= 2 * at * by_loss[k];
      for (unsigned l = 0; l < terms; ++l) {
        objective += at * value(static_cast<int>(l)) * product(k, l);
      }
    }
    objective = std::max(objective, 0.0) / 2;
    if (!(objective < best.objective)) continue;
    best.objective = objective;
    best.converged = true;
    best.coefficients.assign(terms, 0);
    for (unsigned k = 0; k < terms; ++k) {
      const auto pin = pin_of(pins.coefficients, k);
      best.coefficients[k] = pin ? *pin : value(static_cast<int>(k)) * std::exp(-centre[k]);
    }
  }
  return best;
}

/// Nelder and Mead's simplex on ln of the exponents; one evaluation costs less than a step of any
/// method that needs derivatives.
Minimum Objective::project_downhill(const Pins& pins, const Minimum& start) const {
  constexpr int kEvaluations = 80;
  constexpr double kFirstStep = 0.4, kSmallest = 0.02;
  std::vector<size_t> free;
  for (size_t j = 0; j < start.exponents.size(); ++j) {
    if (!pin_of(pins.exponents, j)) free.push_back(j);
  }
  const size_t size = free.size();
  if (size == 0) return start;
  struct Corner {
    Minimum minimum;
    std::vector<double> place;
  };
  const auto corner_at = [&](const std::vector<double>& place) {
    std::vector<double> exponents = start.exponents;
    for (size_t f = 0; f < size; ++f) {
      const Exponent& exponent = law_->exponents[free[f]];
      exponents[free[f]] = std::clamp(std::exp(place[f]), exponent.minimum, exponent.maximum);
    }
    return Corner{project(pins, exponents), place};
  };
  std::vector<double> origin;
  for (const size_t j : free) origin.push_back(std::log(start.exponents[j]));
  std::vector<Corner> corners = {{start, origin}};
  for (size_t f = 0; f < size; ++f) {
    const Exponent& exponent = law_->exponents[free[f]];
    // Towards the middle of the grid: the other way the terms soon cannot be told apart.
    const bool high = start.exponents[free[f]] > std::sqrt(exponent.grid_low * exponent.grid_high);
    std::vector<double> place = origin;
    place[f] += high ? -kFirstStep : kFirstStep;
    corners.push_back(corner_at(place));
  }
  const auto better = [](const Corner& a, const Corner& b) {
    return a.minimum.objective < b.minimum.objective;
  };
  for (auto evaluations = static_cast<int>(size); evaluations < kEvaluations;) {
    std::sort(corners.begin(), corners.end(), better);
    double width = 0;
    for (size_t f = 0; f < size; ++f) {
      width = std::max(width, std::abs(corners.back().place[f] - corners.front().place[f]));
    }
    if (width < kSmallest) break;
    std::vector<double> centre(size, 0.0);
    for (size_t c = 0; c < size; ++c) {
      for (size_t f = 0; f < size; ++f)
        centre[f] += corners[c].place[f] / static_cast<double>(size);
    }
    const auto beyond = [&](double factor) {
      std::vector<double> place = centre;
      for (size_t f = 0; f < size; ++f) place[f] += factor * (centre[f] - corners.back().place[f]);
      ++evaluations;
      return corner_at(place);
    };
    Corner trial = beyond(1);
    if (better(trial, corners.front())) {
      Corner further = beyond(2);
      corners.back() = better(further, trial) ? std::move(further) : std::move(trial);
      continue;
    }
    if (better(trial, corners[size - 1])) {
      corners.back() = std::move(trial);
      continue;
    }
    Corner inner = better(trial, corners.back()) ? beyond(0.5) : beyond(-0.5);
    if (better(inner, corners.back()) && !better(trial, inner)) {
      corners.back() = std::move(inner);
      continue;
    }
    for (size_t c = 1; c <= size; ++c) {
      std::vector<double> place = corners[c].place;
      for (size_t f = 0; f < size; ++f) place[f] = (place[f] + corners.front().place[f]) / 2;
      corners[c] = corner_at(place);
      ++evaluations;
    }
  }
  return std::min_element(corners.begin(), corners.end(), better)->minimum;
}

}  // namespace windtunnel::scaling

#include "scaling/objective.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "scaling/objective_terms.h"

namespace windtunnel::scaling {
namespace {

Point middle_of(const std::vector<Row>& rows) {
  Point middle{1, 1, 1, 1};
  const auto mean = [&](double Point::*member) {
    double sum = 0;
    for (const Row& row : rows) {
      if (!(row.point.*member > 0)) return 1.0;
      sum += std::log(row.point.*member);
    }
    return rows.empty() ? 1.0 : std::exp(sum / static_cast<double>(rows.size()));
  };
  middle.parameters = mean(&Point::parameters);
  middle.tokens = mean(&Point::tokens);
  middle.flops = mean(&Point::flops);
  middle.unique_tokens = mean(&Point::unique_tokens);
  return middle;
}

/// ln phi_k of one row, less its value in the middle; columns filled for the minimum's exponents.
double log_term_of(const RowColumns& columns, size_t k, size_t row, const Minimum& minimum) {
  if (!columns.power_law) return columns.log_term[k][row];
  double log_term = 0;
  for (size_t j = 0; j < minimum.exponents.size(); ++j) {
    const auto& slope = columns.slope[k][j];
    if (!slope.empty()) log_term += minimum.exponents[j] * slope[row];
  }
  return log_term;
}

}  // namespace

Objective::Objective(const Target& target)
    : law_(target.law), huber_delta_(target.huber_delta), middle_(middle_of(target.rows)) {
  const size_t terms = law_->coefficients.size(), exponents = law_->exponents.size();
  columns_.terms = static_cast<int>(terms);
  columns_.exponents = static_cast<int>(exponents);
  columns_.on_log = target.on_log;
  columns_.power_law = law_->power_law;
  smallest_loss_ = std::numeric_limits<double>::infinity();
  const std::vector<double> ones(exponents, 1.0);
  LogTerms unused;
  law_->log_terms(middle_, ones.data(), unused.data(), centre_.data());
  const size_t rows = target.rows.size();
  for (auto* column : {&columns_.measured, &columns_.weight, &columns_.delta, &columns_.count,
                       &losses_, &relative_weight_}) {
    column->reserve(rows);
  }
  for (const Row& row : target.rows) add(row);
  const bool has_runs = std::any_of(target.rows.begin(), target.rows.end(),
                                    [](const Row& row) { return row.run != kOwnRun; });
  for (size_t i = 0; has_runs && i < rows; ++i) runs_.push_back(target.rows[i].run);
  if (!law_->power_law) return;
  for (size_t k = 0; k < terms; ++k) {
    for (size_t j = 0; j < exponents; ++j) {
      auto& column = columns_.slope[k][j];
      const bool none = std::all_of(column.begin(), column.end(), [](double s) { return s == 0; });
      if (none) column = {};
    }
  }
}

void Objective::add(const Row& row) {
  const size_t exponents = law_->exponents.size();
  smallest_loss_ = std::min(smallest_loss_, row.loss);
  losses_.push_back(row.loss);
  relative_weight_.push_back(row.weight * (columns_.on_log ? 1 / row.loss : 1));
  columns_.measured.push_back(columns_.on_log ? std::log(row.loss) : row.loss);
  columns_.weight.push_back(row.weight);
  columns_.delta.push_back(huber_delta_ && row.robust ? *huber_delta_ : kNoLimit);
  columns_.count.push_back(1);
  if (!law_->power_law) {
    points_.push_back(row.point);
    for (size_t k = 0; k < law_->coefficients.size(); ++k) {
      columns_.log_term[k].push_back(0);
      for (size_t j = 0; j < exponents; ++j) columns_.slope[k][j].push_back(0);
    }
    return;
  }
  const std::array<double, Law::kMaximumExponents> ones = {1, 1, 1, 1, 1, 1};
  LogTerms unused;
  Slopes slopes;
  law_->log_terms(row.point, ones.data(), unused.data(), slopes.data());
  for (size_t k = 0; k < law_->coefficients.size(); ++k) {
    for (size_t j = 0; j < exponents; ++j) {
      auto& column = columns_.slope[k][j];
      // A column that is 0 in every row was dropped; it is 0 in this one too.
      if (column.size() + 1 != losses_.size()) continue;
      column.push_back(slopes[k * exponents + j] - centre_[k * exponents + j]);
    }
  }
}

Objective Objective::with_row(const Point& point, double loss, double weight) const {
  Objective more = *this;
  more.add({.point = point, .loss = loss, .weight = weight, .robust = false});
  return more;
}

std::vector<double> Objective::residuals(const Minimum& minimum) const {
  const Vector vector = to_vector(minimum);
  fill_terms(minimum.exponents.data());
  std::vector<double> result;
  result.reserve(rows());
  for (size_t i = 0; i < rows(); ++i) {
    double sum = 0;
    for (int k = 0; k < columns_.terms; ++k) {
      sum += std::exp(vector(k) + log_term_of(columns_, static_cast<size_t>(k), i, minimum));
    }
    result.push_back((columns_.on_log ? std::log(sum) : sum) - columns_.measured[i]);
  }
  return result;
}

void Objective::visit_gradients(
    const Minimum& minimum,
    const std::function<void(size_t row, const double* gradient)>& visit) const {
  const Vector vector = to_vector(minimum);
  fill_terms(minimum.exponents.data());
  LogTerms unused;
  Slopes centre;
  law_->log_terms(middle_, minimum.exponents.data(), unused.data(), centre.data());
  const auto terms = minimum.coefficients.size(), exponents = minimum.exponents.size();
  std::array<double, kMaximumParameters> gradient;
  for (size_t i = 0; i < rows(); ++i) {
    double sum = 0;
    for (size_t k = 0; k < terms; ++k) {
      gradient[k] = std::exp(vector(static_cast<int>(k)) + log_term_of(columns_, k, i, minimum));
      sum += gradient[k];
    }
    std::fill_n(gradient.begin() + static_cast<std::ptrdiff_t>(terms), exponents, 0.0);
    for (size_t k = 0; k < terms; ++k) {
      gradient[k] /= sum;
      for (size_t j = 0; j < exponents; ++j) {
        const auto& slope = columns_.slope[k][j];
        gradient[terms + j] +=
            gradient[k] * ((slope.empty() ? 0 : slope[i]) + centre[k * exponents + j]);
      }
    }
    visit(i, gradient.data());
  }
}

void Objective::set_loss(size_t row, double loss) {
  losses_[row] = loss;
  columns_.measured[row] = columns_.on_log ? std::log(loss) : loss;
}

void Objective::fill_terms(const double* exponents) const {
  if (columns_.power_law) return;
  const auto terms = static_cast<size_t>(columns_.terms);
  const auto count = static_cast<size_t>(columns_.exponents);
  LogTerms log_terms, centre_terms;
  Slopes slopes, centre_slopes;
  law_->log_terms(middle_, exponents, centre_terms.data(), centre_slopes.data());
  for (size_t i = 0; i < points_.size(); ++i) {
    law_->log_terms(points_[i], exponents, log_terms.data(), slopes.data());
    for (size_t k = 0; k < terms; ++k) {
      columns_.log_term[k][i] = log_terms[k] - centre_terms[k];
      for (size_t j = 0; j < count; ++j) {
        columns_.slope[k][j][i] = slopes[k * count + j] - centre_slopes[k * count + j];
      }
    }
  }
}

Objective::Vector Objective::to_vector(const Minimum& minimum) const {
  LogTerms centre;
  Slopes unused;
  law_->log_terms(middle_, minimum.exponents.data(), centre.data(), unused.data());
  Vector vector(columns_.terms + columns_.exponents);
  for (int k = 0; k < columns_.terms; ++k) {
    const auto at = static_cast<size_t>(k);
    const double value = minimum.coefficients[at];
    vector(k) = value > 0 ? std::log(value) + centre[at] : kLogOfZero;
  }
  for (int j = 0; j < columns_.exponents; ++j) {
    vector(columns_.terms + j) = minimum.exponents[static_cast<size_t>(j)];
  }
  return vector;
}

void Objective::sums_at(const Minimum& minimum, Curvature curvature, RowSums& sums) const {
  const Vector vector = to_vector(minimum);
  fill_terms(minimum.exponents.data());
  sum_rows(columns_, vector.data(), curvature, 1, sums);
}

double Objective::at(const Minimum& minimum) const {
  RowSums sums;
  sums_at(minimum, Curvature::kExact, sums);
  return sums.objective;
}

std::optional<double> Objective::standard_error(const Minimum& minimum, size_t parameter) const {
  const auto terms = minimum.coefficients.size();
  std::vector<int> free;
  std::optional<int> asked;
  for (size_t p = 0; p < terms + minimum.exponents.size(); ++p) {
    if (p < terms && minimum.coefficients[p] == 0) continue;
    if (p == parameter) asked = static_cast<int>(free.size());
    free.push_back(static_cast<int>(p));
  }
  if (!asked) return std::nullopt;
  RowSums sums;
  sums_at(minimum, Curvature::kExact, sums);
  const auto count = static_cast<int>(free.size());
  Matrix hessian(count, count);
  for (int a = 0; a < count; ++a) {
    for (int b = a; b < count; ++b) {
      const int entry =
          free[static_cast<size_t>(a)] * kMaximumParameters + free[static_cast<size_t>(b)];
      hessian(a, b) = hessian(b, a) = sums.hessian[static_cast<size_t>(entry)];
    }
  }
  Vector direction = Vector::Zero(count);
  direction(*asked) = 1;
  if (parameter < terms) {
    // ln c_k is the centred parameter less the centre of its term, which moves with the exponents.
    LogTerms unused;
    Slopes slopes;
    law_->log_terms(middle_, minimum.exponents.data(), unused.data(), slopes.data());
    for (int f = 0; f < count; ++f) {
      const int j = free[static_cast<size_t>(f)] - columns_.terms;
      if (j < 0) continue;
      direction(f) = -slopes[parameter * minimum.exponents.size() + static_cast<size_t>(j)];
    }
  }
  const Eigen::LLT<Matrix> factor(hessian);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const double variance = direction.dot(factor.solve(direction));
  return variance > 0 && std::isfinite(variance) ? std::optional(std::sqrt(variance))
                                                 : std::nullopt;
}

/// What coefficient `k` must be for its term to be `share` of the smallest loss in the middle.
double Objective::lifted(const Minimum& minimum, size_t k, double share) const {
  LogTerms centre;
  Slopes unused;
  law_->log_terms(middle_, minimum.exponents.data(), centre.data(), unused.data());
  return share * smallest_loss_ * std::exp(-centre[k]);
}

/// A coefficient at 0 grows if the objective falls with it (else 0 is a minimum: Karush-Kuhn-
/// Tucker).
bool Objective::grows(const Minimum& minimum, size_t k) const {
  // So small that the slope is the one at 0: d objective / d ln c = c times the slope by c.
  Minimum raised = minimum;
  raised.coefficients[k] = lifted(minimum, k, 1e-12);
  RowSums sums;
  sums_at(raised, Curvature::kReweighted, sums);
  return sums.gradient[k] < 0;
}

}  // namespace windtunnel::scaling

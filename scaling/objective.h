#pragma once
// The objective of a fit as numbers that can be searched fast: the rows of a Target as columns
// (row_sums.h), and a hand-written Newton descent over them. Thousands of starts, bootstrap draws
// and profile points go through it; the minimum that is reported is checked by Ceres (fit.h).

#include <Eigen/Core>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "scaling/fit.h"
#include "scaling/row_sums.h"

namespace windtunnel::scaling {

class Objective {
 public:
  /// Copies the rows; `target.law` is borrowed. Not explicit: a Target is one where one is asked
  /// for.
  Objective(const Target& target);  // NOLINT(google-explicit-constructor)

  /// The same with one row more, of least squares whatever the others are.
  Objective with_row(const Point& point, double loss, double weight) const;

  /// Replaces the loss of one row, e.g. of a trial outcome.
  void set_loss(size_t row, double loss);
  /// How often each row counts.
  void set_counts(const std::vector<double>& counts) { columns_.count = counts; }

  /// The sum over rows at these numbers.
  double at(const Minimum& minimum) const;

  /// From `start` downhill to a minimum, with `pins` held fixed. A coefficient that may vanish is
  /// left at exactly 0, or taken there, where the objective would not fall by its growing.
  /// `widening` above 1 is for far starts: Huber's widths begin that much wider and narrow on the
  /// way, because a far residual pulls with a constant force only.
  ///
  /// Cost:    about ten passes over the rows.
  Minimum descend(const Pins& pins, const Minimum& start, double widening = 1) const;

  /// The best non-negative coefficients at these exponents: weighted least squares on L, with
  /// weights 1/L where the residuals are of ln L, so that both agree to first order. Its objective
  /// ranks starts and is no objective of the fit. `converged` is false if no coefficients fit.
  Minimum project(const Pins& pins, const std::vector<double>& exponents) const;

  /// From a projected start to about the exponents whose projection is best, so that a descent
  /// does not have to follow the long valleys where two terms are nearly one.
  ///
  /// Cost:    about forty projections.
  Minimum project_downhill(const Pins& pins, const Minimum& start) const;

  /// Standard error of a parameter (ln of a coefficient, or an exponent; counted coefficients
  /// first) by the curvature at a minimum, for residuals of variance 1. These laws are far from
  /// linear: it says where to look, and is no interval. nullopt where the curvature has no inverse,
  /// or the coefficient is 0.
  ///
  /// Cost:    one pass over the rows.
  std::optional<double> standard_error(const Minimum& minimum, size_t parameter) const;

  const Law& law() const { return *law_; }
  bool on_log() const { return columns_.on_log; }
  std::optional<double> huber_delta() const { return huber_delta_; }
  size_t rows() const { return columns_.rows(); }
  const std::vector<double>& losses() const { return losses_; }
  /// Of each row, unweighted, in row order.
  std::vector<double> residuals(const Minimum& minimum) const;
  double smallest_loss() const { return smallest_loss_; }
  const std::vector<double>& weights() const { return columns_.weight; }
  /// d ln L / d (ln c_k, exponents) of each row at a minimum, in row order; the coefficients not
  /// centred.
  void visit_gradients(const Minimum& minimum,
                       const std::function<void(size_t row, const double* gradient)>& visit) const;
  /// Row::run of each row; empty if every row is a run of its own.
  const std::vector<int64_t>& runs() const { return runs_; }
  /// Geometric mean of the rows in every variable.
  const Point& middle() const { return middle_; }

  /// Gradient and Hessian by ln c_k (centred) and exponents at a minimum; for tests and steps.
  void sums_at(const Minimum& minimum, Curvature curvature, RowSums& sums) const;

 private:
  class Descent;
  using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaximumParameters, 1>;
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMaximumParameters,
                               kMaximumParameters>;

  double lifted(const Minimum& minimum, size_t k, double share) const;
  bool grows(const Minimum& minimum, size_t k) const;
  void fill_terms(const double* exponents) const;
  void add(const Row& row);
  Vector to_vector(const Minimum& minimum) const;

  const Law* law_;
  std::optional<double> huber_delta_;
  std::vector<Point> points_;
  Point middle_;
  /// Of the middle, for a power law: what its slopes are centred by.
  std::array<double, Law::kMaximumTerms * Law::kMaximumExponents> centre_;
  double smallest_loss_ = 0;
  std::vector<double> losses_;
  std::vector<int64_t> runs_;
  std::vector<double> relative_weight_;
  /// Terms that are not linear in the exponents are filled in anew at each evaluation.
  mutable RowColumns columns_;
};

}  // namespace windtunnel::scaling

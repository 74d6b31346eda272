#pragma once
// The inner loop of every fit: one pass over the rows gives the objective with its gradient and
// Hessian. Rows lie as columns of numbers, so that the compiler makes vectors of them; nothing is
// allocated.

#include <array>
#include <cstddef>
#include <vector>

#include "scaling/law.h"

namespace windtunnel::scaling {

constexpr int kMaximumParameters = Law::kMaximumTerms + Law::kMaximumExponents;
/// Stands for no limit; infinity is not used, so that the loop may assume finite numbers.
constexpr double kNoLimit = 1e300;

/// One number for each row.
struct RowColumns {
  int terms = 0;
  int exponents = 0;
  bool on_log = true;
  /// ln phi_k is the sum of slope times exponent; `log_term` then is empty.
  bool power_law = true;
  /// [k]: ln phi_k, less its value in the middle of the rows.
  std::array<std::vector<double>, Law::kMaximumTerms> log_term;
  /// [k][j]: its derivative by exponent j; empty where it is 0 in every row.
  std::array<std::array<std::vector<double>, Law::kMaximumExponents>, Law::kMaximumTerms> slope;
  /// ln of the loss, or the loss.
  std::vector<double> measured;
  std::vector<double> weight;
  /// Huber's width in units of weight times residual; kNoLimit for least squares.
  std::vector<double> delta;
  /// How often a row counts: 1, or what the bootstrap drew.
  std::vector<double> count;

  size_t rows() const { return measured.size(); }
};

enum class Curvature {
  /// Second derivatives: Newton's steps, when close.
  kExact,
  /// J^T W J with W = min(1, delta / |r|): never indefinite, safe from afar.
  kReweighted
};

struct RowSums {
  double objective = 0;
  std::array<double, kMaximumParameters> gradient;
  /// Row-major, upper triangle, width kMaximumParameters.
  std::array<double, kMaximumParameters * kMaximumParameters> hessian;
};

/// `parameters`: ln of the centred coefficients, then the exponents. Derivatives are by these.
/// `widening` multiplies Huber's widths: 1, or more on the way from a far start.
///
/// Cost:    one exponential for each term and one logarithm a row; R P^2 multiplications for R
///          rows and P parameters.
void sum_rows(const RowColumns& columns, const double* parameters, Curvature curvature,
              double widening, RowSums& sums);

/// Products of the terms at given exponents with each other and with the losses, weighted by the
/// square of `relative_weight`: the normal equations of the coefficients. `products` is row-major
/// with width Law::kMaximumTerms; `squares` receives the same of the losses with themselves.
void sum_products(const RowColumns& columns, const std::vector<double>& losses,
                  const std::vector<double>& relative_weight, const double* exponents,
                  double* products, double* by_loss, double* squares);

}  // namespace windtunnel::scaling

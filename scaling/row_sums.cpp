// Compiled with vector instructions, once for each set of them (CMakeLists.txt): plain loops over
// blocks of rows that stay in the first cache.

#include "scaling/row_sums.h"

#include <algorithm>
#include <cmath>

#include "base/target_clones.h"

namespace windtunnel::scaling {
namespace {

constexpr int kBlock = 256;

/// A term with its coefficient, for one block.
WINDTUNNEL_CLONES void term_values(const RowColumns& columns, size_t from, int rows, int term,
                                   double log_coefficient, const double* exponents,
                                   double* values) {
  bool constant = columns.power_law;
  std::fill_n(values, rows, log_coefficient);
  if (!columns.power_law) {
    const double* log_term = columns.log_term[static_cast<size_t>(term)].data() + from;
    for (int i = 0; i < rows; ++i) values[i] += log_term[i];
  }
  for (int j = 0; columns.power_law && j < columns.exponents; ++j) {
    const auto& column = columns.slope[static_cast<size_t>(term)][static_cast<size_t>(j)];
    if (column.empty()) continue;
    constant = false;
    const double* slope = column.data() + from;
    const double exponent = exponents[j];
    for (int i = 0; i < rows; ++i) values[i] += exponent * slope[i];
  }
  if (constant) {
    std::fill_n(values, rows, std::exp(log_coefficient));
  } else {
    for (int i = 0; i < rows; ++i) values[i] = std::exp(values[i]);
  }
}

/// sum of a b, and of a b c.
WINDTUNNEL_CLONES double dot(int rows, const double* a, const double* b) {
  double sum = 0;
  for (int i = 0; i < rows; ++i) sum += a[i] * b[i];
  return sum;
}
WINDTUNNEL_CLONES double dot(int rows, const double* a, const double* b, const double* c) {
  double sum = 0;
  for (int i = 0; i < rows; ++i) sum += a[i] * b[i] * c[i];
  return sum;
}

struct Block {
  double value[Law::kMaximumTerms][kBlock];
  double gradient[kMaximumParameters][kBlock];
  /// Factor of the gradient, and of products of gradients.
  double first[kBlock];
  double second[kBlock];
  /// Of a residual by the logarithm of the prediction.
  double scale[kBlock];
  double scratch[kBlock];
};

/// Residuals and the factors that the derivatives share; returns the block's objective.
WINDTUNNEL_CLONES double residual_factors(const RowColumns& columns, size_t from, int rows,
                                          bool exact, double widening, Block& block) {
  const double* measured = columns.measured.data() + from;
  const double* weight = columns.weight.data() + from;
  const double* delta = columns.delta.data() + from;
  const double* count = columns.count.data() + from;
  double* total = block.scratch;
  for (int i = 0; i < rows; ++i) total[i] = block.value[0][i];
  for (int k = 1; k < columns.terms; ++k) {
    for (int i = 0; i < rows; ++i) total[i] += block.value[k][i];
  }
  double* inverse = block.second;
  for (int i = 0; i < rows; ++i) inverse[i] = 1 / total[i];
  for (int k = 0; k < columns.terms; ++k) {
    for (int i = 0; i < rows; ++i) block.value[k][i] *= inverse[i];
  }
  // Loops without conditions on what is the same for all rows: those keep a compiler from making
  // vectors, of a logarithm most of all.
  double* residual = block.first;
  double* scale = block.scale;
  if (columns.on_log) {
    for (int i = 0; i < rows; ++i) residual[i] = std::log(total[i]);
    std::fill_n(scale, rows, 1.0);
  } else {
    std::copy_n(total, rows, residual);
    std::copy_n(total, rows, scale);
  }
  const double log_bend = columns.on_log ? 1 : 0;
  double objective = 0;
  if (exact) {
    for (int i = 0; i < rows; ++i) {
      const double r = weight[i] * (residual[i] - measured[i]);
      const double limit = widening * delta[i];
      const double psi = std::min(std::max(r, -limit), limit);
      objective += count[i] * psi * (r - psi / 2);
      const double steep = weight[i] * scale[i];
      const double slope = count[i] * steep * psi;
      const double inside = std::abs(r) <= limit ? count[i] : 0.0;
      block.first[i] = slope;
      block.second[i] = steep * steep * inside - log_bend * slope;
    }
  } else {
    for (int i = 0; i < rows; ++i) {
      const double r = weight[i] * (residual[i] - measured[i]);
      const double size = std::abs(r);
      const double limit = widening * delta[i];
      const double psi = std::min(std::max(r, -limit), limit);
      objective += count[i] * psi * (r - psi / 2);
      const double steep = weight[i] * scale[i];
      block.first[i] = count[i] * steep * psi;
      block.second[i] = count[i] * steep * steep * (size <= limit ? 1.0 : limit / size);
    }
  }
  return objective;
}

}  // namespace

WINDTUNNEL_CLONES void sum_rows(const RowColumns& columns, const double* parameters,
                                Curvature curvature, double widening, RowSums& sums) {
  const int terms = columns.terms, exponents = columns.exponents, all = terms + exponents;
  const bool exact = curvature == Curvature::kExact;
  sums.objective = 0;
  sums.gradient.fill(0);
  sums.hessian.fill(0);
  double* hessian = sums.hessian.data();
  Block block;
  for (size_t from = 0; from < columns.rows(); from += kBlock) {
    const int rows = static_cast<int>(std::min<size_t>(kBlock, columns.rows() - from));
    for (int k = 0; k < terms; ++k) {
      term_values(columns, from, rows, k, parameters[k], parameters + terms, block.value[k]);
    }
    sums.objective += residual_factors(columns, from, rows, exact, widening, block);

    // d ln L / d ln c_k is the share of term k; by an exponent, the shares times the slopes.
    for (int k = 0; k < terms; ++k) std::copy_n(block.value[k], rows, block.gradient[k]);
    for (int j = 0; j < exponents; ++j) {
      double* gradient = block.gradient[terms + j];
      std::fill_n(gradient, rows, 0.0);
      for (int k = 0; k < terms; ++k) {
        const auto& column = columns.slope[static_cast<size_t>(k)][static_cast<size_t>(j)];
        if (column.empty()) continue;
        const double* slope = column.data() + from;
        for (int i = 0; i < rows; ++i) gradient[i] += block.value[k][i] * slope[i];
      }
    }
    for (int a = 0; a < all; ++a) {
      sums.gradient[static_cast<size_t>(a)] += dot(rows, block.first, block.gradient[a]);
      for (int i = 0; i < rows; ++i) block.scratch[i] = block.second[i] * block.gradient[a][i];
      for (int b = a; b < all; ++b) {
        hessian[a * kMaximumParameters + b] += dot(rows, block.scratch, block.gradient[b]);
      }
    }
    if (!exact) continue;
    // The second derivative of ln L: shares times slopes times slopes, less the product above.
    for (int k = 0; k < terms; ++k) {
      for (int i = 0; i < rows; ++i) block.scratch[i] = block.first[i] * block.value[k][i];
      double sum = 0;
      for (int i = 0; i < rows; ++i) sum += block.scratch[i];
      hessian[k * kMaximumParameters + k] += sum;
      for (int j = 0; j < exponents; ++j) {
        const auto& column = columns.slope[static_cast<size_t>(k)][static_cast<size_t>(j)];
        if (column.empty()) continue;
        const double* slope = column.data() + from;
        hessian[k * kMaximumParameters + terms + j] += dot(rows, block.scratch, slope);
        for (int m = j; m < exponents; ++m) {
          const auto& other = columns.slope[static_cast<size_t>(k)][static_cast<size_t>(m)];
          if (other.empty()) continue;
          hessian[(terms + j) * kMaximumParameters + terms + m] +=
              dot(rows, block.scratch, slope, other.data() + from);
        }
      }
    }
  }
}

void sum_products(const RowColumns& columns, const std::vector<double>& losses,
                  const std::vector<double>& relative_weight, const double* exponents,
                  double* products, double* by_loss, double* squares) {
  const int terms = columns.terms;
  std::fill_n(products, Law::kMaximumTerms * Law::kMaximumTerms, 0.0);
  std::fill_n(by_loss, Law::kMaximumTerms, 0.0);
  *squares = 0;
  Block block;
  for (size_t from = 0; from < columns.rows(); from += kBlock) {
    const int rows = static_cast<int>(std::min<size_t>(kBlock, columns.rows() - from));
    const double* weight = relative_weight.data() + from;
    const double* count = columns.count.data() + from;
    for (int i = 0; i < rows; ++i) block.first[i] = count[i] * weight[i] * weight[i];
    for (int i = 0; i < rows; ++i)
      block.second[i] = block.first[i] * losses[from + static_cast<size_t>(i)];
    *squares += dot(rows, block.second, losses.data() + from);
    for (int k = 0; k < terms; ++k) {
      term_values(columns, from, rows, k, 0, exponents, block.value[k]);
      by_loss[k] += dot(rows, block.second, block.value[k]);
      for (int l = 0; l <= k; ++l) {
        const double sum = dot(rows, block.first, block.value[k], block.value[l]);
        products[k * Law::kMaximumTerms + l] += sum;
        if (l != k) products[l * Law::kMaximumTerms + k] += sum;
      }
    }
  }
}

}  // namespace windtunnel::scaling

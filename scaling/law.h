#pragma once
// A law says how loss falls with size, tokens or compute. Every law of the field that the project
// fits is a sum of terms, each a non-negative coefficient times a function of the exponents:
//
//   L(x) = sum_k c_k phi_k(x; exponents),          e.g.  L(C) = E * 1 + A * C^-alpha
//
// so a law only states its terms, as logarithms with their derivatives. From that the fit gets its
// start (for given exponents the c_k are a linear problem), its parametrisation (ln c_k and the
// logarithm of each exponent, so signs cannot go wrong) and its exact derivatives. One file each in
// laws/, registered at its bottom; laws/loss_c.cpp is the one to read first.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/registry.h"

namespace windtunnel::scaling {

/// Where a loss was measured. A law reads only the variables it lists; the others may be 0.
struct Point {
  /// N, parameters by whatever convention the observations share.
  double parameters = 0;
  /// D, tokens trained on.
  double tokens = 0;
  /// C, training FLOPs by whatever convention the observations share.
  double flops = 0;
  /// U, different tokens among D; D where nothing was repeated.
  double unique_tokens = 0;
  /// Peak.
  double learning_rate = 0;
  /// B, tokens per optimizer step.
  double batch_tokens = 0;
};

enum class Variable { kParameters, kTokens, kFlops, kUniqueTokens, kLearningRate, kBatchTokens };

/// "N", "D", "C", "U", "lr", "B".
std::string variable_name(Variable variable);
double value_of(const Point& point, Variable variable);

/// c_k >= 0.
struct Coefficient {
  std::string name;
  std::string help;
  /// The law still makes sense with this coefficient at 0 (an offset); others must be positive.
  bool may_vanish = false;
};

/// Positive; a law puts the sign into its term. Any other positive number that a law is not linear
/// in (the half-life of repeated data) counts as one.
struct Exponent {
  std::string name;
  std::string help;
  /// The source writes it with the sign in it: people see -value.
  bool shown_negative = false;
  /// A scale and no exponent: values above 1 are nothing suspect.
  bool is_scale = false;
  /// Where the fit may go; ending there is reported as a bound that was hit.
  double minimum = 1e-4;
  double maximum = 10;
  /// Where the grid of starts lies.
  double grid_low = 0.02;
  double grid_high = 1.5;
};

struct Law {
  static constexpr int kMaximumTerms = 6;
  static constexpr int kMaximumExponents = 6;

  std::vector<Variable> variables;
  /// What it describes: nullopt for the loss, else the variable whose best value it is (the size
  /// for a budget, the learning rate of a size).
  std::optional<Variable> response = std::nullopt;
  /// One for each term, in order.
  std::vector<Coefficient> coefficients;
  std::vector<Exponent> exponents;
  /// ln phi_k is linear in the exponents: the search then takes its derivatives only once.
  bool power_law = true;
  /// Writes ln phi_k to `log_terms`, one for each coefficient, and d ln phi_k / d exponent_j to
  /// `derivatives`[k * exponents.size() + j].
  void (*log_terms)(const Point& point, const double* exponents, double* log_terms,
                    double* derivatives);

  int parameter_count() const { return static_cast<int>(coefficients.size() + exponents.size()); }
};

using Laws = base::Registry<Law>;

/// Law::log_terms of c x^a (Sign 1) or c x^-a (Sign -1), x being one quantity of the point.
template <double Point::*Quantity, int Sign>
void log_power_term(const Point& point, const double* exponents, double* log_terms,
                    double* derivatives) {
  const double log_quantity = Sign * std::log(point.*Quantity);
  log_terms[0] = exponents[0] * log_quantity;
  derivatives[0] = log_quantity;
}

/// Errors: Error that names the known laws.
inline const base::Kind<Law>& law_named(const std::string& name) {
  return Laws::instance().get(name, "law");
}

/// C where it is known, else 6 N D; 0 if neither is.
double compute_of(const Point& point);

/// What a law describes at a row: its loss, or the variable that is the law's response.
double response_of(const Law& law, const Point& point, double loss);

/// As people see it: with the sign of its source.
double shown_value(const Exponent& exponent, double value);

/// A law with numbers: `coefficients` and `exponents` in the law's order.
double predict(const Law& law, const std::vector<double>& coefficients,
               const std::vector<double>& exponents, const Point& point);

}  // namespace windtunnel::scaling

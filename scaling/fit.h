#pragma once
// Finding a law's numbers: the sum over rows of a loss of the residual, minimised.
//
//   residual_i = ln L_hat_i - ln L_i   (or L_hat_i - L_i),   objective = sum_i rho(w_i residual_i)
//
//   rho(r) = r^2 / 2                                least squares
//   rho(r) = r^2 / 2 up to delta, then linear       Huber, delta in the unit of the residual
//
// The sum, never the mean: an objective of 1e-6 would fall under every solver's tolerance. The
// search starts on a grid of exponents, where the coefficients are a linear problem with
// non-negative solutions (variable projection, Golub and Pereyra 1973). From each start a Newton
// descent of our own goes downhill (objective.h); the best minimum is then restarted from around
// itself and handed to Ceres, and what lowers the objective is taken and reported. A coefficient
// that may vanish is also tried at exactly 0, which no logarithm reaches.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scaling/law.h"

namespace windtunnel::scaling {

inline constexpr int64_t kOwnRun = -1;

struct Row {
  Point point;
  double loss = 0;
  /// Rows with the same number are one run, which the bootstrap draws whole; kOwnRun: a run of one
  /// row.
  int64_t run = kOwnRun;
  /// Its place in the table it was made of.
  size_t index = 0;
  double weight = 1;
  /// false: least squares for this row whatever the objective.
  bool robust = true;
};

/// What is minimised. `law` is borrowed.
struct Target {
  const Law* law = nullptr;
  std::vector<Row> rows;
  /// Residuals of ln L; false: of L.
  bool on_log = true;
  /// Huber's width; nullopt: least squares.
  std::optional<double> huber_delta;
};

/// `rows` of the target's, drawn once and always the same for a purpose; all, if it has no more.
Target thinned(const Target& target, size_t rows, std::string_view purpose);

/// Values held fixed, in the law's order; an empty vector fixes nothing. A coefficient fixed at 0
/// removes its term.
struct Pins {
  std::vector<std::optional<double>> coefficients;
  std::vector<std::optional<double>> exponents;
};

struct Minimum {
  std::vector<double> coefficients;
  std::vector<double> exponents;
  double objective = 0;
  bool converged = false;
  /// E.g. "E = 0", "alpha at its upper bound".
  std::vector<std::string> bounds_hit;
};

/// The relative change of the objective at which the solver stops. Smaller would be below the
/// rounding of residuals that are a thousandth of the loss, and never be reached.
inline constexpr double kTolerance = 1e-12;
/// Starts whose objectives agree to this are in one basin.
inline constexpr double kSameBasin = 1e-6;

/// Told what is being done and how much of it is: "search", 0.4. Called often; empty: nobody asks.
using FitProgress = std::function<void(const char* stage, double share)>;

struct Search {
  Minimum best;
  int starts = 0;
  int starts_in_best_basin = 0;
  /// The best objective outside the best basin, if any start ended there.
  std::optional<double> second_basin;
  /// How far restarts from around the best, and Ceres, still lowered the objective, relative; 0 is
  /// good.
  double restart_gain = 0;
  /// Of it, by Ceres.
  double solver_gain = 0;
  /// Ceres could compute the law around the minimum and ended at one.
  bool solver_agrees = false;
  /// The best descent never left its start.
  bool answer_is_a_start = false;
  /// Rows the starts were tried on; large tables are thinned for that.
  int rows_searched = 0;
};

/// From `starts` points of the grid, then restarts around the best. Deterministic.
/// Errors: Error if no start converges.
Search search(const Target& target, int starts, const Pins& pins = {},
              const FitProgress& progress = {});

/// From one start, where `pins` may hold values; for profiles.
Minimum minimise(const Target& target, const Pins& pins, const Minimum& start);

/// Unweighted residuals in row order.
std::vector<double> residuals(const Target& target, const Minimum& minimum);

/// Condition number of the Jacobian of the residuals by ln of the coefficients (those at 0 left
/// out) and the exponents, columns scaled to norm 1. Infinite if it has no full rank.
double condition_number(const Target& target, const Minimum& minimum);

}  // namespace windtunnel::scaling

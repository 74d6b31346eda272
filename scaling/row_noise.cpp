#include "scaling/row_noise.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace windtunnel::scaling {
namespace {

using base::format_number;

constexpr int kStarts = 8;
/// tau settles in three or four rounds: weights move the law little.
constexpr int kRounds = 10;
constexpr double kSettled = 1e-4;

/// In the unit of the residual.
std::vector<double> errors_of(const Target& target, const std::vector<Observation>& rows) {
  std::vector<double> errors;
  for (const Observation& row : rows) {
    const double error = row.loss_standard_error.value_or(0);
    if (!std::isfinite(error) || !(error > 0)) {
      throw base::Error(row.name + ": standard error of the loss = " + format_number(error) +
                        " must be a positive number; correct it, or fit with --weights none");
    }
    errors.push_back(target.on_log ? error / row.loss : error);
  }
  return errors;
}

/// sum r^2 / (tau^2 + se^2): falls as tau grows.
double weighted_squares(const std::vector<double>& residuals, const std::vector<double>& errors,
                        double tau) {
  double sum = 0;
  for (size_t i = 0; i < residuals.size(); ++i) {
    sum += residuals[i] * residuals[i] / (tau * tau + errors[i] * errors[i]);
  }
  return sum;
}

double between_runs(const std::vector<double>& residuals, const std::vector<double>& errors,
                    double degrees) {
  if (weighted_squares(residuals, errors, 0) <= degrees) return 0;
  double low = 0, high = 0;
  for (const double r : residuals) high = std::max(high, std::abs(r));
  high *= std::sqrt(static_cast<double>(residuals.size()) / degrees);
  while (high - low > 1e-9 * high) {
    const double middle = (low + high) / 2;
    (weighted_squares(residuals, errors, middle) > degrees ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Returns the geometric mean of the rows' standard deviations.
double set_weights(Target& target, const std::vector<double>& errors, double tau) {
  double log_mean = 0;
  for (const double error : errors) {
    log_mean += std::log(std::hypot(tau, error)) / static_cast<double>(errors.size());
  }
  for (size_t i = 0; i < errors.size(); ++i) {
    target.rows[i].weight = std::exp(log_mean) / std::hypot(tau, errors[i]);
  }
  return std::exp(log_mean);
}

}  // namespace

RowNoise weigh_rows(Target& target, const std::vector<Observation>& rows,
                    const FitOptions& options) {
  RowNoise noise;
  const auto known = std::count_if(rows.begin(), rows.end(), [](const Observation& row) {
    return row.loss_standard_error.has_value();
  });
  if (options.weights == "none") {
    noise.reason = "asked for";
    return noise;
  }
  if (target.law->response) {
    noise.reason = "the law describes no loss";
    return noise;
  }
  const std::string& text = rows.front().scored_text;
  const bool one_text =
      !text.empty() && std::all_of(rows.begin(), rows.end(),
                                   [&](const auto& row) { return row.scored_text == text; });
  if (one_text) {
    noise.reason = "all were scored on one text, whose error they share";
    return noise;
  }
  if (static_cast<size_t>(known) < rows.size()) {
    noise.reason = known == 0 ? "no row has a standard error of its loss"
                              : std::to_string(rows.size() - static_cast<size_t>(known)) + " of " +
                                    std::to_string(rows.size()) +
                                    " rows have no standard error of their loss";
    return noise;
  }
  const std::vector<double> errors = errors_of(target, rows);
  double tau = options.noise_floor.value_or(0);
  if (!options.noise_floor) {
    const double degrees =
        static_cast<double>(rows.size()) - static_cast<double>(target.law->parameter_count());
    Minimum best = search(target, kStarts).best;
    for (int round = 0; round < kRounds; ++round) {
      const double before = tau;
      tau = between_runs(residuals(target, best), errors, degrees);
      const double typical = set_weights(target, errors, tau);
      if (round > 0 && std::abs(tau - before) <= kSettled * typical) break;
      best = minimise(target, {}, best);
    }
  }
  noise.typical = set_weights(target, errors, tau);
  noise.is_used = true;
  noise.between_runs = tau;
  noise.is_given = options.noise_floor.has_value();
  noise.smallest = std::hypot(tau, *std::min_element(errors.begin(), errors.end()));
  noise.largest = std::hypot(tau, *std::max_element(errors.begin(), errors.end()));
  return noise;
}

Target target_of(const std::vector<Observation>& rows, const LawFit& fit) {
  Target target = target_of(rows, fit.options);
  if (fit.row_noise.is_used) {
    set_weights(target, errors_of(target, rows), *fit.row_noise.between_runs);
  }
  return target;
}

std::string row_noise_text(const RowNoise& noise) {
  if (!noise.is_used) return "rows weighted alike (" + noise.reason + ")";
  return "rows weighted by their noise, standard deviations from " +
         format_number(noise.smallest.value_or(0), 3) + " to " +
         format_number(noise.largest.value_or(0), 3) + ": the error of their evaluation and " +
         format_number(noise.between_runs.value_or(0), 3) + " between runs (" +
         (noise.is_given ? "given" : "estimated from the residuals") + ")";
}

}  // namespace windtunnel::scaling

#include "scaling/fit.h"

#include <ceres/ceres.h>
#include <glog/logging.h>

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "base/random.h"
#include "base/text.h"
#include "scaling/objective.h"

namespace windtunnel::scaling {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// ln c_k, centred, stays within this of the logarithm of the loss.
constexpr double kLogSpan = 25;
/// Above this, starts are tried on kRowsSearched of the rows and the best is finished on all.
constexpr size_t kManyRows = 20000;
constexpr size_t kRowsSearched = 5000;
constexpr size_t kRowsOfABlock = 1024;
/// Residuals of a projected start are far wider than Huber's delta.
constexpr double kWideningOfStarts = 10;

/// The law as a function of the free parameters only: ln c_k of the free coefficients, then ln of
/// the free exponents. A free coefficient is centred: it multiplies phi_k(x) / phi_k(reference)
/// with the reference in the middle of the rows, without which ln A and alpha are nearly collinear.
class Model {
 public:
  Model(const Objective& objective, Pins pins)
      : law_(objective.law()), on_log_(objective.on_log()), reference_(objective.middle()) {
    pins.coefficients.resize(law_.coefficients.size());
    pins.exponents.resize(law_.exponents.size());
    pins_ = std::move(pins);
    for (size_t k = 0; k < law_.coefficients.size(); ++k) {
      if (!pins_.coefficients[k]) free_coefficients_.push_back(k);
    }
    for (size_t j = 0; j < law_.exponents.size(); ++j) {
      if (!pins_.exponents[j]) free_exponents_.push_back(j);
    }
  }

  struct Terms {
    std::array<double, Law::kMaximumExponents> exponents;
    std::array<double, Law::kMaximumTerms> log;
    std::array<double, Law::kMaximumTerms * Law::kMaximumExponents> derivative;
  };

  Terms terms_at_reference(const double* free) const { return terms(reference_, free); }
  size_t free_count() const { return free_coefficients_.size() + free_exponents_.size(); }
  const std::vector<size_t>& free_coefficients() const { return free_coefficients_; }
  const std::vector<size_t>& free_exponents() const { return free_exponents_; }
  bool on_log() const { return on_log_; }

  /// The prediction, on the scale of the residual; `gradient` by the free parameters, or null.
  /// `centre`: terms_at_reference(free).
  double predict(const Point& point, const double* free, const Terms& centre,
                 double* gradient) const {
    const Terms at = terms(point, free);
    std::array<double, Law::kMaximumTerms> log_value;
    double largest = -kInfinity;
    size_t next_free = 0;
    for (size_t k = 0; k < law_.coefficients.size(); ++k) {
      const auto& pin = pins_.coefficients[k];
      log_value[k] =
          pin ? std::log(*pin) + at.log[k] : free[next_free++] + at.log[k] - centre.log[k];
      largest = std::max(largest, log_value[k]);
    }
    double sum = 0;
    for (size_t k = 0; k < law_.coefficients.size(); ++k) sum += std::exp(log_value[k] - largest);
    const double log_prediction = largest + std::log(sum);
    const double prediction = std::exp(log_prediction);
    if (gradient) {
      std::fill(gradient, gradient + free_count(), 0.0);
      const double scale = on_log_ ? 1 : prediction;
      const size_t exponents = law_.exponents.size();
      size_t slot = 0;
      for (size_t k = 0; k < law_.coefficients.size(); ++k) {
        const double share = scale * std::exp(log_value[k] - log_prediction);
        const bool is_free = !pins_.coefficients[k];
        if (is_free) gradient[slot++] = share;
        for (size_t f = 0; f < free_exponents_.size(); ++f) {
          const size_t j = free_exponents_[f];
          double slope = at.derivative[k * exponents + j];
          if (is_free) slope -= centre.derivative[k * exponents + j];
          gradient[free_coefficients_.size() + f] += share * slope * at.exponents[j];
        }
      }
    }
    return on_log_ ? log_prediction : prediction;
  }

  /// From the law's own numbers to the free parameters and back.
  std::vector<double> to_free(const Minimum& minimum, double smallest_loss) const {
    std::vector<double> free(free_count());
    const Terms centre = terms_for(reference_, minimum.exponents);
    for (size_t f = 0; f < free_coefficients_.size(); ++f) {
      const size_t k = free_coefficients_[f];
      const double value = minimum.coefficients[k];
      free[f] = value > 0 ? std::log(value) + centre.log[k] : std::log(0.05 * smallest_loss);
    }
    for (size_t f = 0; f < free_exponents_.size(); ++f) {
      free[free_coefficients_.size() + f] = std::log(minimum.exponents[free_exponents_[f]]);
    }
    return free;
  }

  Minimum from_free(const std::vector<double>& free) const {
    Minimum minimum;
    const Terms centre = terms(reference_, free.data());
    minimum.exponents.assign(centre.exponents.begin(),
                             centre.exponents.begin() + static_cast<long>(law_.exponents.size()));
    size_t next_free = 0;
    for (size_t k = 0; k < law_.coefficients.size(); ++k) {
      const auto& pin = pins_.coefficients[k];
      minimum.coefficients.push_back(pin ? *pin : std::exp(free[next_free++] - centre.log[k]));
    }
    return minimum;
  }

 private:
  Terms terms(const Point& point, const double* free) const {
    Terms result;
    size_t next_free = free_coefficients_.size();
    for (size_t j = 0; j < law_.exponents.size(); ++j) {
      result.exponents[j] = pins_.exponents[j] ? *pins_.exponents[j] : std::exp(free[next_free++]);
    }
    fill(point, result);
    return result;
  }

  Terms terms_for(const Point& point, const std::vector<double>& exponents) const {
    Terms result;
    std::copy(exponents.begin(), exponents.end(), result.exponents.begin());
    fill(point, result);
    return result;
  }

  void fill(const Point& point, Terms& terms) const {
    law_.log_terms(point, terms.exponents.data(), terms.log.data(), terms.derivative.data());
  }

  const Law& law_;
  bool on_log_;
  Pins pins_;
  std::vector<size_t> free_coefficients_;
  std::vector<size_t> free_exponents_;
  Point reference_;
};

double measured(const Row& row, bool on_log) { return on_log ? std::log(row.loss) : row.loss; }

/// Residuals of some rows in a row.
class RowsCost final : public ceres::CostFunction {
 public:
  RowsCost(const Model& model, const Row* rows, int count) : model_(model), rows_(rows) {
    mutable_parameter_block_sizes()->push_back(static_cast<int>(model.free_count()));
    set_num_residuals(count);
  }

  bool Evaluate(double const* const* parameters, double* residuals,
                double** jacobians) const override {
    double* gradient = jacobians ? jacobians[0] : nullptr;
    const Model::Terms centre = model_.terms_at_reference(parameters[0]);
    bool finite = true;
    for (int i = 0; i < num_residuals(); ++i) {
      const Row& row = rows_[i];
      const double prediction = model_.predict(row.point, parameters[0], centre, gradient);
      residuals[i] = row.weight * (prediction - measured(row, model_.on_log()));
      finite = finite && std::isfinite(residuals[i]);
      if (!gradient) continue;
      for (size_t f = 0; f < model_.free_count(); ++f) *gradient++ *= row.weight;
    }
    return finite;
  }

 private:
  const Model& model_;
  const Row* rows_;
};

/// Ceres from `start`, with exactly these pins; coefficients at 0 stay there.
Minimum polish(const Target& target, const Objective& objective, Pins pins, const Minimum& start) {
  pins.coefficients.resize(start.coefficients.size());
  for (size_t k = 0; k < start.coefficients.size(); ++k) {
    if (start.coefficients[k] == 0) pins.coefficients[k] = 0;
  }
  const Model model(objective, pins);
  const Law& law = *target.law;
  const double log_loss = std::log(objective.smallest_loss());
  std::vector<double> free = model.to_free(start, objective.smallest_loss());
  const size_t coefficients = model.free_coefficients().size();

  Minimum result;
  if (free.empty()) {
    result = model.from_free(free);
    result.converged = true;
  } else {
    ceres::Problem::Options ownership;
    ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
    ceres::Problem problem(ownership);
    std::unique_ptr<ceres::HuberLoss> huber;
    if (target.huber_delta) huber = std::make_unique<ceres::HuberLoss>(*target.huber_delta);
    // Huber's loss is of one residual; squares may come in blocks, which a long table is faster in.
    const size_t together = huber ? 1 : kRowsOfABlock;
    for (size_t from = 0; from < target.rows.size(); from += together) {
      const size_t count = std::min(together, target.rows.size() - from);
      problem.AddResidualBlock(new RowsCost(model, &target.rows[from], static_cast<int>(count)),
                               target.rows[from].robust ? huber.get() : nullptr, free.data());
    }
    std::vector<double> low(free.size()), high(free.size());
    for (size_t f = 0; f < free.size(); ++f) {
      if (f < coefficients) {
        low[f] = log_loss - kLogSpan;
        high[f] = log_loss + kLogSpan;
      } else {
        const Exponent& exponent = law.exponents[model.free_exponents()[f - coefficients]];
        low[f] = std::log(exponent.minimum);
        high[f] = std::log(exponent.maximum);
      }
      free[f] = std::clamp(free[f], low[f], high[f]);
      problem.SetParameterLowerBound(free.data(), static_cast<int>(f), low[f]);
      problem.SetParameterUpperBound(free.data(), static_cast<int>(f), high[f]);
    }
    ceres::Solver::Options options;
    options.linear_solver_type =
        target.rows.size() > kManyRows ? ceres::DENSE_NORMAL_CHOLESKY : ceres::DENSE_QR;
    options.logging_type = ceres::SILENT;
    options.max_num_iterations = 500;
    options.function_tolerance = kTolerance;
    // Each row adds at most delta to the gradient, so this must be far below any delta.
    options.gradient_tolerance = 1e-16;
    options.parameter_tolerance = 1e-12;
    options.num_threads = 1;
    // Whatever it complains about is in the summary.
    FLAGS_minloglevel = google::GLOG_FATAL;
    ceres::Solver::Summary summary;
    ceres::Solve(options, &problem, &summary);
    result = model.from_free(free);
    result.converged = summary.IsSolutionUsable();
    for (size_t f = 0; f < free.size(); ++f) {
      const std::string& name = f < coefficients
                                    ? law.coefficients[model.free_coefficients()[f]].name
                                    : law.exponents[model.free_exponents()[f - coefficients]].name;
      if (free[f] - low[f] < 1e-9) result.bounds_hit.push_back(name + " at its lower bound");
      if (high[f] - free[f] < 1e-9) result.bounds_hit.push_back(name + " at its upper bound");
    }
  }
  result.objective = result.converged ? objective.at(result) : kInfinity;
  return result;
}

/// Projected starts over a grid of exponents, best first.
std::vector<Minimum> grid_of_starts(const Objective& objective, const Pins& pins, int wanted) {
  const Law& law = objective.law();
  const size_t exponents = law.exponents.size();
  const auto pin_of = [&](size_t j) {
    return j < pins.exponents.size() ? pins.exponents[j] : std::nullopt;
  };
  size_t free = 0;
  for (size_t j = 0; j < exponents; ++j) free += pin_of(j) ? 0 : 1;
  const int least = free <= 1 ? 64 : free == 2 ? 32 : 8;
  const int enough =
      free == 0
          ? 1
          : static_cast<int>(std::ceil(std::pow(wanted, 1.0 / static_cast<double>(free)) - 1e-9));
  const int per_exponent = std::max(least, enough);
  std::vector<Minimum> starts;
  std::vector<int> at(exponents, 0);
  for (;;) {
    std::vector<double> values(exponents);
    for (size_t j = 0; j < exponents; ++j) {
      const Exponent& exponent = law.exponents[j];
      const double share = static_cast<double>(at[j]) / (per_exponent - 1);
      values[j] = pin_of(j).value_or(exponent.grid_low *
                                     std::pow(exponent.grid_high / exponent.grid_low, share));
    }
    Minimum start = objective.project(pins, values);
    if (start.converged) starts.push_back(std::move(start));
    size_t j = 0;
    while (j < exponents && (pin_of(j) || ++at[j] == per_exponent)) at[j++] = 0;
    if (j == exponents) break;
  }
  std::stable_sort(starts.begin(), starts.end(),
                   [](const auto& a, const auto& b) { return a.objective < b.objective; });
  return starts;
}

/// Whether a descent went nowhere: then its answer is a start, not a fit.
bool is_start(const Minimum& found, const Minimum& start) {
  for (size_t j = 0; j < found.exponents.size(); ++j) {
    if (std::abs(found.exponents[j] / start.exponents[j] - 1) > 1e-12) return false;
  }
  return !found.exponents.empty();
}

}  // namespace

Target thinned(const Target& target, size_t rows, std::string_view purpose) {
  if (target.rows.size() <= rows) return target;
  std::vector<size_t> order(target.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  base::RandomStream random(1, purpose);
  random.shuffle(order);
  Target sample{.law = target.law, .on_log = target.on_log, .huber_delta = target.huber_delta};
  for (size_t i = 0; i < rows; ++i) sample.rows.push_back(target.rows[order[i]]);
  return sample;
}

Minimum minimise(const Target& target, const Pins& pins, const Minimum& start) {
  return Objective(target).descend(pins, start);
}

Search search(const Target& target, int starts, const Pins& pins, const FitProgress& progress) {
  const bool many = target.rows.size() > kManyRows;
  const Objective objective(target);
  std::optional<Objective> sample;
  if (many) sample.emplace(thinned(target, kRowsSearched, "rows of the search"));
  const Objective& searched = many ? *sample : objective;

  const std::vector<Minimum> grid = grid_of_starts(searched, pins, starts);
  if (grid.empty()) {
    std::vector<std::string> names;
    for (const Variable variable : target.law->variables) names.push_back(variable_name(variable));
    throw base::Error(
        "no exponents give the law positive coefficients: over these rows " +
        (target.law->response ? variable_name(*target.law->response) : std::string("the loss")) +
        " does not move with " + base::join(names, ", ") + " as the law says; look at the rows");
  }
  Search result;
  result.rows_searched =
      static_cast<int>(std::min<size_t>(target.rows.size(), many ? kRowsSearched : SIZE_MAX));
  std::vector<double> objectives;
  Minimum best;
  best.objective = kInfinity;
  const auto wanted = std::min(grid.size(), static_cast<size_t>(std::max(starts, 1)));
  for (size_t s = 0; s < wanted; ++s) {
    if (progress) progress("search", static_cast<double>(s) / static_cast<double>(wanted));
    // The best of the grid first, then evenly through the ranks.
    const Minimum& start = grid[s * grid.size() / wanted];
    Minimum found =
        searched.descend(pins, searched.project_downhill(pins, start), kWideningOfStarts);
    if (!found.converged) continue;
    objectives.push_back(found.objective);
    if (!(found.objective < best.objective)) continue;
    result.answer_is_a_start = is_start(found, start);
    best = std::move(found);
  }
  result.starts = static_cast<int>(wanted);
  if (objectives.empty()) {
    throw base::Error("the fit did not converge from any of " + std::to_string(wanted) +
                      " starts; look at the rows for a loss or budget far off the others");
  }
  const double rounding = 1e-20 * static_cast<double>(target.rows.size());
  for (const double value : objectives) {
    if (value <= best.objective * (1 + kSameBasin) + rounding) {
      ++result.starts_in_best_basin;
    } else if (!result.second_basin || value < *result.second_basin) {
      result.second_basin = value;
    }
  }
  if (many) best = objective.descend(pins, best);

  // Two checks that this is a minimum: restarts from around it, and Ceres.
  const double first = best.objective;
  for (const double factor : {0.8, 1.25, 0.97, 1.03}) {
    if (many && factor != 1.03) continue;
    Minimum moved = best;
    for (double& exponent : moved.exponents) exponent *= factor;
    const Minimum again = objective.descend(pins, moved);
    if (again.converged && again.objective < best.objective) best = again;
  }
  Minimum polished = polish(target, objective, pins, best);
  result.solver_agrees = polished.converged;
  if (polished.converged && polished.objective < best.objective) {
    for (const std::string& bound : best.bounds_hit) {
      if (bound.ends_with(" = 0")) polished.bounds_hit.push_back(bound);
    }
    result.solver_gain = (best.objective - polished.objective) / best.objective;
    best = std::move(polished);
  }
  // Exact data have an objective of rounding errors, where relative changes mean nothing.
  if (first > rounding) {
    result.restart_gain = (first - best.objective) / first;
  } else {
    result.solver_gain = 0;
  }
  result.best = std::move(best);
  return result;
}

std::vector<double> residuals(const Target& target, const Minimum& minimum) {
  std::vector<double> result;
  for (const Row& row : target.rows) {
    const double loss = predict(*target.law, minimum.coefficients, minimum.exponents, row.point);
    result.push_back((target.on_log ? std::log(loss) : loss) - measured(row, target.on_log));
  }
  return result;
}

double condition_number(const Target& target, const Minimum& minimum) {
  const Law& law = *target.law;
  const size_t exponents = law.exponents.size();
  std::vector<size_t> present;
  for (size_t k = 0; k < law.coefficients.size(); ++k) {
    if (minimum.coefficients[k] > 0) present.push_back(k);
  }
  Eigen::MatrixXd jacobian(target.rows.size(), present.size() + exponents);
  std::array<double, Law::kMaximumTerms> log_terms;
  std::array<double, Law::kMaximumTerms * Law::kMaximumExponents> slopes;
  for (size_t i = 0; i < target.rows.size(); ++i) {
    const auto row = static_cast<long>(i);
    law.log_terms(target.rows[i].point, minimum.exponents.data(), log_terms.data(), slopes.data());
    const double loss = predict(law, minimum.coefficients, minimum.exponents, target.rows[i].point);
    jacobian.row(row).setZero();
    for (size_t c = 0; c < present.size(); ++c) {
      const size_t k = present[c];
      const double value = std::exp(std::log(minimum.coefficients[k]) + log_terms[k]);
      const double share = target.on_log ? value / loss : value;
      jacobian(row, static_cast<long>(c)) = share;
      for (size_t j = 0; j < exponents; ++j) {
        jacobian(row, static_cast<long>(present.size() + j)) += share * slopes[k * exponents + j];
      }
    }
  }
  for (long f = 0; f < jacobian.cols(); ++f) {
    const double norm = jacobian.col(f).norm();
    if (norm == 0) return kInfinity;
    jacobian.col(f) /= norm;
  }
  // The triangular factor has the same singular values and few rows.
  const Eigen::MatrixXd triangle = Eigen::HouseholderQR<Eigen::MatrixXd>(jacobian)
                                       .matrixQR()
                                       .topRows(jacobian.cols())
                                       .triangularView<Eigen::Upper>();
  const Eigen::VectorXd values = Eigen::JacobiSVD<Eigen::MatrixXd>(triangle).singularValues();
  const double smallest = values(values.size() - 1);
  return smallest > 1e-14 * values(0) ? values(0) / smallest : kInfinity;
}

}  // namespace windtunnel::scaling

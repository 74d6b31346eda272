#include "scaling/sweep.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"

namespace windtunnel::scaling {
namespace {

using base::Error;
using base::format_number;

/// {u : (b + 2 c u)^2 <= t^2 var(b + 2 c u)} for estimates b, c with `covariance`; the ends are
/// null unless it is a bounded interval.
Interval fieller(double b, double c, const Eigen::Matrix2d& covariance, double t_squared) {
  // As a quadratic in u: p u^2 + q u + r <= 0.
  const double p = 4 * (c * c - t_squared * covariance(1, 1));
  const double q = 4 * (b * c - t_squared * covariance(0, 1));
  const double r = b * b - t_squared * covariance(0, 0);
  if (!(p > 0)) return {};
  const double root = std::sqrt(std::max(0.0, q * q - 4 * p * r));
  return {(-q - root) / (2 * p), (-q + root) / (2 * p)};
}

std::vector<SweepRow> checked(std::vector<SweepRow> rows) {
  std::set<double> values;
  for (const SweepRow& row : rows) {
    for (const auto& [what, value] : {std::pair("value", row.value), std::pair("loss", row.loss)}) {
      if (std::isfinite(value) && value > 0) continue;
      throw Error(row.name + ": " + what + " = " + format_number(value) +
                  " must be a positive number; correct or remove the row");
    }
    values.insert(row.value);
  }
  const auto unseeded =
      std::find_if(rows.begin(), rows.end(), [](const SweepRow& row) { return !row.seed; });
  const bool has_seeds = std::any_of(rows.begin(), rows.end(),
                                     [](const SweepRow& row) { return row.seed.has_value(); });
  if (has_seeds && unseeded != rows.end()) {
    throw Error(unseeded->name +
                " has no seed while others have one; fill it in, or compare all without seeds");
  }
  if (values.size() < 3) {
    throw Error("a sweep needs three different values and has " + std::to_string(values.size()) +
                "; run at more values");
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const SweepRow& a, const SweepRow& b) { return a.value < b.value; });
  return rows;
}

/// Least squares on the monomials of u, with what is needed for intervals.
struct ParabolaFit {
  /// c_1 and c_2, and the inverse of their part of the normal matrix.
  Eigen::Vector2d slopes;
  Eigen::Matrix2d inverse;
  /// Mean of c_0 over the levels.
  double level = 0;
  double squares = 0;
  double middle = 0;
  int64_t levels = 1;

  /// `by_seed`: a level for each seed.
  ParabolaFit(const std::vector<SweepRow>& rows, bool by_seed) {
    const auto count = static_cast<long>(rows.size());
    std::map<int64_t, long> column;
    for (const SweepRow& row : rows) {
      column.emplace(by_seed ? *row.seed : 0, static_cast<long>(column.size()));
    }
    levels = static_cast<int64_t>(column.size());
    for (const SweepRow& row : rows) middle += std::log(row.value) / static_cast<double>(count);
    Eigen::MatrixXd basis = Eigen::MatrixXd::Zero(count, levels + 2);
    Eigen::VectorXd losses(count);
    for (long i = 0; i < count; ++i) {
      const SweepRow& row = rows[static_cast<size_t>(i)];
      const double u = std::log(row.value) - middle;
      basis(i, column.at(by_seed ? *row.seed : 0)) = 1;
      basis(i, levels) = u;
      basis(i, levels + 1) = u * u;
      losses(i) = std::log(row.loss);
    }
    const Eigen::VectorXd coefficients = basis.colPivHouseholderQr().solve(losses);
    slopes = coefficients.tail<2>();
    level = coefficients.head(levels).mean();
    inverse = (basis.transpose() * basis).inverse().bottomRightCorner<2, 2>();
    squares = (losses - basis * coefficients).squaredNorm();
  }
};

/// Every row has a seed, and some seed was run at three values: fewer than three on each would
/// leave the bend to differences between seeds.
bool share_seeds(const std::vector<SweepRow>& rows) {
  std::map<int64_t, std::set<double>> values;
  for (const SweepRow& row : rows) {
    if (!row.seed) return false;
    values[*row.seed].insert(row.value);
  }
  return values.size() > 1 && std::any_of(values.begin(), values.end(),
                                          [](const auto& seed) { return seed.second.size() >= 3; });
}

void judge(Sweep& sweep) {
  const double low = sweep.rows.front().value, high = sweep.rows.back().value;
  const std::string tried = format_number(low, 4) + " to " + format_number(high, 4);
  if (!sweep.minimum) {
    sweep.reason = "the parabola opens downwards: there is no best value among " + tried;
    return;
  }
  if (!sweep.curvature_interval.low) {
    sweep.reason =
        "the rows fix the parabola exactly and leave nothing to judge it by; add a "
        "value, a second seed or the noise";
    return;
  }
  if (!(*sweep.curvature_interval.low > 0)) {
    sweep.reason =
        "the curvature may be 0: the rows do not show a best value; sweep further out, "
        "or add seeds";
    return;
  }
  const auto inside = [&](double value) { return value > low && value < high; };
  if (!inside(*sweep.minimum)) {
    sweep.verdict = sweep_verdict::kEdge;
    sweep.reason = "the minimum lies outside the values tried, " + tried + "; sweep beyond " +
                   format_number(*sweep.minimum < low ? low : high, 4);
    return;
  }
  const Interval& interval = sweep.minimum_interval;
  if (!interval.low || !interval.high || !inside(*interval.low) || !inside(*interval.high)) {
    sweep.verdict = sweep_verdict::kEdge;
    sweep.reason = "the interval of the minimum leaves the values tried, " + tried;
    return;
  }
  sweep.verdict = sweep_verdict::kInterior;
  sweep.reason = "the minimum and its interval lie among the values tried, " + tried;
}

/// The value of lowest mean loss, each run less the level of its seed: a lucky seed that ran a few
/// values only does not make them best.
double best_tried(const std::vector<SweepRow>& rows, const ParabolaFit& fit, bool by_seed) {
  const auto off_parabola = [&](const SweepRow& row) {
    const double u = std::log(row.value) - fit.middle;
    return std::log(row.loss) - fit.slopes(0) * u - fit.slopes(1) * u * u;
  };
  std::map<int64_t, std::pair<double, int>> levels;
  for (const SweepRow& row : rows) {
    auto& [sum, count] = levels[by_seed ? *row.seed : 0];
    sum += off_parabola(row);
    ++count;
  }
  std::map<double, std::pair<double, int>> values;
  for (const SweepRow& row : rows) {
    const auto& [level, runs] = levels[by_seed ? *row.seed : 0];
    auto& [sum, count] = values[row.value];
    sum += std::log(row.loss) - level / runs;
    ++count;
  }
  return std::min_element(values.begin(), values.end(),
                          [](const auto& a, const auto& b) {
                            return a.second.first / a.second.second <
                                   b.second.first / b.second.second;
                          })
      ->first;
}

}  // namespace

Sweep fit_sweep(const std::string& quantity, const std::vector<SweepRow>& rows, double confidence,
                const std::optional<double>& noise) {
  Sweep sweep{.quantity = quantity, .confidence = confidence, .rows = checked(rows)};
  const bool by_seed = share_seeds(sweep.rows);
  const ParabolaFit fit(sweep.rows, by_seed);
  if (by_seed) sweep.seeds = fit.levels;
  sweep.best_tried = best_tried(sweep.rows, fit, by_seed);
  const double b = fit.slopes(0), c = fit.slopes(1);
  sweep.curvature = c;
  sweep.cost_of_factor_two = c * std::log(2) * std::log(2);
  if (c > 0) {
    sweep.minimum = std::exp(fit.middle - b / (2 * c));
    sweep.loss_at_minimum = std::exp(fit.level - b * b / (4 * c));
  }
  const int64_t degrees = static_cast<int64_t>(sweep.rows.size()) - fit.levels - 2;
  if (degrees > 0) sweep.scatter = std::sqrt(fit.squares / static_cast<double>(degrees));
  if (degrees > 0 || noise) {
    const double share = (1 + confidence) / 2;
    const bool is_known = noise && *noise >= sweep.scatter.value_or(0);
    const double sd = is_known ? *noise : *sweep.scatter;
    const double t = is_known ? boost::math::quantile(boost::math::normal(), share)
                              : boost::math::quantile(
                                    boost::math::students_t(static_cast<double>(degrees)), share);
    const Eigen::Matrix2d covariance = sd * sd * fit.inverse;
    const double half = t * std::sqrt(covariance(1, 1));
    sweep.curvature_interval = {c - half, c + half};
    if (c > 0) {
      const Interval at = fieller(b, c, covariance, t * t);
      if (at.low) sweep.minimum_interval.low = std::exp(fit.middle + *at.low);
      if (at.high) sweep.minimum_interval.high = std::exp(fit.middle + *at.high);
    }
  }
  judge(sweep);
  return sweep;
}

std::string sweep_text(const Sweep& sweep) {
  std::vector<std::vector<std::string>> cells = {{sweep.quantity, "loss", "run"}};
  for (const SweepRow& row : sweep.rows) {
    cells.push_back({format_number(row.value, 5), format_number(row.loss, 6), row.name});
  }
  const auto ends = [](const Interval& interval) {
    const auto end = [](const std::optional<double>& value) {
      return value ? format_number(*value, 4) : std::string("open");
    };
    return "[" + end(interval.low) + ", " + end(interval.high) + "]";
  };
  std::string text = base::format_table(cells) + "verdict: " + sweep.verdict + "; " + sweep.reason +
                     "\nbest tried: " + format_number(sweep.best_tried, 5) + "\n";
  if (sweep.minimum) {
    text += "minimum of a parabola in ln " + sweep.quantity + ": " +
            format_number(*sweep.minimum, 4) + " " + ends(sweep.minimum_interval) + " at " +
            format_number(100 * sweep.confidence) + " %, loss " +
            format_number(*sweep.loss_at_minimum, 6) + "; a factor of 2 off costs " +
            format_number(100 * sweep.cost_of_factor_two, 3) + " %\n";
  }
  text += "curvature of ln loss: " + format_number(sweep.curvature, 3) + " " +
          ends(sweep.curvature_interval);
  if (sweep.scatter) {
    text +=
        "; a row scatters by " + format_number(100 * *sweep.scatter, 3) + " % about the parabola";
    if (sweep.seeds > 0) {
      text += ", with a level for each of " + std::to_string(sweep.seeds) + " seeds";
    }
  }
  return text + "\n";
}

}  // namespace windtunnel::scaling

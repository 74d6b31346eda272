#include "scaling/approaches.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/text.h"
#include "scaling/optimum.h"

namespace windtunnel::scaling {
namespace {

using base::Error;
using base::format_number;

/// Budgets within this factor of a group's smallest are one budget.
constexpr double kSameBudget = 1.1;
constexpr size_t kRowsOfAParabola = 4;

void require_all(const std::vector<Observation>& rows) {
  for (const Observation& row : rows) {
    const Point point = point_of(row);
    if (point.parameters > 0 && point.tokens > 0 && point.flops > 0 && row.loss > 0) continue;
    throw Error(row.name + " lacks N, D, C or a loss; the three approaches need all of them");
  }
}

struct Parabola {
  double vertex = 0;
  double curvature = 0;
  double curvature_error = 0;
  double value_at_vertex = 0;
};

Parabola parabola_through(const std::vector<double>& x, const std::vector<double>& y) {
  const auto rows = static_cast<long>(x.size());
  double centre = 0;
  for (const double value : x) centre += value / static_cast<double>(rows);
  Eigen::MatrixXd basis(rows, 3);
  Eigen::VectorXd values(rows);
  for (long i = 0; i < rows; ++i) {
    const double at = x[static_cast<size_t>(i)] - centre;
    basis.row(i) << 1, at, at * at;
    values(i) = y[static_cast<size_t>(i)];
  }
  const Eigen::VectorXd c = basis.colPivHouseholderQr().solve(values);
  Parabola result;
  result.curvature = c(2);
  result.vertex = centre - c(1) / (2 * c(2));
  result.value_at_vertex = c(0) - c(1) * c(1) / (4 * c(2));
  if (rows > 3) {
    const double variance = (values - basis * c).squaredNorm() / static_cast<double>(rows - 3);
    const Eigen::MatrixXd inverse = (basis.transpose() * basis).inverse();
    result.curvature_error = std::sqrt(variance * inverse(2, 2));
  }
  return result;
}

IsoFlop isoflop_of(const std::vector<const Observation*>& rows, const IsoFlopRules& rules) {
  std::vector<double> sizes, tokens, losses;
  double log_flops = 0;
  for (const Observation* row : rows) {
    const Point point = point_of(*row);
    sizes.push_back(std::log(point.parameters));
    tokens.push_back(std::log(point.tokens));
    losses.push_back(row->loss);
    log_flops += std::log(point.flops) / static_cast<double>(rows.size());
  }
  IsoFlop result;
  result.flops = std::exp(log_flops);
  result.rows = static_cast<int>(rows.size());
  if (rows.size() < kRowsOfAParabola) {
    result.left_out =
        std::to_string(rows.size()) + " rows, " + std::to_string(kRowsOfAParabola) + " are needed";
    return result;
  }
  const auto [low, high] = std::minmax_element(sizes.begin(), sizes.end());
  if (*high - *low < 1e-6) {
    result.left_out = "one size only";
    return result;
  }
  const Parabola in_size = parabola_through(sizes, losses);
  const Parabola in_tokens = parabola_through(tokens, losses);
  result.best_parameters = std::exp(in_size.vertex);
  result.best_tokens = std::exp(in_tokens.vertex);
  result.curvature = in_size.curvature;
  const boost::math::students_t student(static_cast<double>(rows.size()) - 3);
  const double half =
      boost::math::quantile(student, (1 + rules.confidence) / 2) * in_size.curvature_error;
  result.curvature_interval = {in_size.curvature - half, in_size.curvature + half};
  result.interior = in_size.vertex > *low && in_size.vertex < *high;
  result.off_centre = (*low + *high) / 2 - in_size.vertex;
  result.half_width = (*high - *low) / 2;
  result.loss = in_size.value_at_vertex;
  if (!(in_size.curvature > 0) || !(in_tokens.curvature > 0)) {
    result.left_out = "the parabola opens downwards: there is no best size among these rows";
  } else if (*result.curvature_interval.low <= 0) {
    result.left_out = "its curvature may be 0: the rows do not show a best size";
  } else if (rules.interior_only && !result.interior) {
    result.left_out = "its vertex lies outside the sampled sizes";
  }
  return result;
}

/// On the noise-free surface of `fit`, at the same rows.
void add_bias(const std::vector<Observation>& rows, const LawFit& fit, const IsoFlopRules& rules,
              IsoFlopApproach& approach) {
  if (!fit.optimum) return;
  const Minimum best = minimum_of(fit);
  const Law& law = law_named(fit.law).entry;
  std::vector<Observation> surface = rows;
  for (Observation& row : surface) {
    row.loss = predict(law, best.coefficients, best.exponents, point_of(row));
  }
  try {
    const IsoFlopApproach found = isoflop_approach(surface, rules);
    approach.exponent_bias = found.parameters.exponent - fit.optimum->a;
    const double flops = approach.budgets.back().flops;
    const Optimum optimum{fit.optimum->a, fit.optimum->G};
    approach.log_bias_at_largest = std::log(found.parameters.at(flops) / optimum.parameters(flops));
  } catch (const Error&) {
    // No parabola of the surface is usable at these rows: then there is no bias to state.
  }
}

std::string line_text(const std::string& name, const PowerLine& parameters,
                      const PowerLine& tokens) {
  return name + ": N* ~ C^" + format_number(parameters.exponent, 4) + ", D* ~ C^" +
         format_number(tokens.exponent, 4) + ", together " +
         format_number(parameters.exponent + tokens.exponent, 4);
}

}  // namespace

double PowerLine::at(double flops) const {
  return std::exp(intercept + exponent * std::log(flops));
}

PowerLine power_line(const std::vector<double>& flops, const std::vector<double>& values) {
  double x_mean = 0, y_mean = 0;
  const auto count = static_cast<double>(flops.size());
  for (size_t i = 0; i < flops.size(); ++i) {
    x_mean += std::log(flops[i]) / count;
    y_mean += std::log(values[i]) / count;
  }
  double xx = 0, xy = 0;
  for (size_t i = 0; i < flops.size(); ++i) {
    const double x = std::log(flops[i]) - x_mean;
    xx += x * x;
    xy += x * (std::log(values[i]) - y_mean);
  }
  if (!(xx > 1e-12)) throw Error("a line over C needs two budgets at least; there is one");
  return {xy / xx, y_mean - xy / xx * x_mean};
}

HullApproach hull_approach(const std::vector<Observation>& rows) {
  require_all(rows);
  struct Corner {
    double x, y;
    const Observation* row;
  };
  std::vector<Corner> points;
  for (const Observation& row : rows) {
    points.push_back({std::log(*row.flops), std::log(row.loss), &row});
  }
  std::sort(points.begin(), points.end(), [](const Corner& a, const Corner& b) {
    return std::tie(a.x, a.y) < std::tie(b.x, b.y);
  });
  // Andrew's monotone chain, the lower half.
  std::vector<Corner> hull;
  for (const Corner& point : points) {
    const auto turns_right = [&] {
      const Corner &a = hull[hull.size() - 2], &b = hull.back();
      return (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) <= 0;
    };
    while (hull.size() >= 2 && turns_right()) hull.pop_back();
    hull.push_back(point);
  }
  if (hull.size() < 3) {
    throw Error("the lower hull of " + std::to_string(rows.size()) + " rows has " +
                std::to_string(hull.size()) + " corners; three are needed");
  }
  HullApproach result;
  result.points = static_cast<int>(hull.size());
  std::vector<double> flops, parameters, tokens;
  for (const Corner& corner : hull) {
    flops.push_back(*corner.row->flops);
    parameters.push_back(*corner.row->parameters_active);
    tokens.push_back(*corner.row->tokens);
    result.names.push_back(corner.row->name);
  }
  result.parameters = power_line(flops, parameters);
  result.tokens = power_line(flops, tokens);
  return result;
}

IsoFlopApproach isoflop_approach(const std::vector<Observation>& rows, const IsoFlopRules& rules) {
  require_all(rows);
  std::vector<const Observation*> sorted;
  for (const Observation& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return *a->flops < *b->flops; });
  IsoFlopApproach result;
  for (size_t from = 0; from < sorted.size();) {
    size_t to = from;
    while (to < sorted.size() && *sorted[to]->flops <= kSameBudget * *sorted[from]->flops) ++to;
    result.budgets.push_back(isoflop_of({sorted.begin() + static_cast<std::ptrdiff_t>(from),
                                         sorted.begin() + static_cast<std::ptrdiff_t>(to)},
                                        rules));
    from = to;
  }
  std::vector<double> flops, parameters, tokens;
  std::map<std::string, int> reasons;
  for (const IsoFlop& budget : result.budgets) {
    if (!budget.left_out.empty()) {
      ++reasons[budget.left_out];
      continue;
    }
    flops.push_back(budget.flops);
    parameters.push_back(budget.best_parameters);
    tokens.push_back(budget.best_tokens);
  }
  if (flops.size() < 2) {
    std::string why;
    for (const auto& [reason, count] : reasons) {
      why += "; " + std::to_string(count) + " left out: " + reason;
    }
    throw Error(std::to_string(flops.size()) + " of " + std::to_string(result.budgets.size()) +
                " budgets have a usable parabola, two are needed" + why);
  }
  result.parameters = power_line(flops, parameters);
  result.tokens = power_line(flops, tokens);
  return result;
}

Approaches run_approaches(const std::vector<Observation>& rows, const FitOptions& options,
                          const std::string& which, const LawFit* fitted) {
  Approaches result;
  const bool all = which == "all";
  std::optional<LawFit> made;
  const LawFit* fit = nullptr;
  if (all || which == "3" || which == "2") {
    try {
      FitOptions plain = options;
      plain.law = law_named(options.law).entry.variables.size() > 1 ? options.law : "loss_nd";
      plain.gate = false;
      const bool known = fitted != nullptr && plain.law == options.law;
      if (!known) made = fit_law(rows, plain);
      fit = known ? fitted : &*made;
      if (all || which == "3") {
        result.parametric = fit->optimum;
        if (!fit->optimum) result.parametric_problem = "law " + plain.law + " has no closed form";
      }
    } catch (const Error& error) {
      result.parametric_problem = error.what();
    }
  }
  if (all || which == "1") {
    try {
      result.hull = hull_approach(rows);
    } catch (const Error& error) {
      result.hull_problem = error.what();
    }
  }
  if (all || which == "2") {
    try {
      const IsoFlopRules rules{.confidence = options.confidence};
      result.isoflop = isoflop_approach(rows, rules);
      if (fit) add_bias(rows, *fit, rules, *result.isoflop);
    } catch (const Error& error) {
      result.isoflop_problem = error.what();
    }
  }
  double largest = 0;
  for (const Observation& row : rows) largest = std::max(largest, row.flops.value_or(0));
  std::vector<double> exponents, sizes;
  const auto add = [&](double exponent, double size) {
    exponents.push_back(exponent);
    sizes.push_back(size);
  };
  const double further = 10 * largest;
  if (result.hull) add(result.hull->parameters.exponent, result.hull->parameters.at(further));
  if (result.isoflop) {
    add(result.isoflop->parameters.exponent, result.isoflop->parameters.at(further));
  }
  if (result.parametric) {
    add(result.parametric->a,
        Optimum{result.parametric->a, result.parametric->G}.parameters(further));
  }
  if (exponents.size() > 1) {
    const auto [low, high] = std::minmax_element(exponents.begin(), exponents.end());
    result.exponent_spread = *high - *low;
    const auto [small, large] = std::minmax_element(sizes.begin(), sizes.end());
    result.size_ratio = *large / *small;
  }
  return result;
}

std::string approaches_text(const Approaches& approaches) {
  std::string text;
  if (approaches.hull) {
    text += line_text("1 hull", approaches.hull->parameters, approaches.hull->tokens) + "; " +
            std::to_string(approaches.hull->points) + " rows on the hull\n";
  }
  if (!approaches.hull_problem.empty()) text += "1 hull: none: " + approaches.hull_problem + "\n";
  if (approaches.isoflop) {
    const IsoFlopApproach& isoflop = *approaches.isoflop;
    text += line_text("2 iso-FLOP", isoflop.parameters, isoflop.tokens) + "\n";
    if (isoflop.exponent_bias) {
      text += "  bias of parabolas on the surface of approach 3: exponent " +
              format_number(*isoflop.exponent_bias, 3) + ", N* at the largest budget " +
              format_number(100 * std::expm1(*isoflop.log_bias_at_largest), 3) +
              " %; corrected exponent " +
              format_number(isoflop.parameters.exponent - *isoflop.exponent_bias, 4) + "\n";
    }
    std::vector<std::vector<std::string>> cells = {
        {"  C", "rows", "N*", "D*", "curvature", "off centre", "used"}};
    size_t unmade = 0;
    for (const IsoFlop& budget : isoflop.budgets) {
      const bool made = budget.best_parameters > 0;
      if (!made) {
        ++unmade;
        continue;
      }
      const auto& interval = budget.curvature_interval;
      cells.push_back({"  " + format_number(budget.flops, 3), std::to_string(budget.rows),
                       base::format_count(budget.best_parameters),
                       base::format_count(budget.best_tokens),
                       interval.low ? format_number(budget.curvature, 3) + " [" +
                                          format_number(*interval.low, 3) + ", " +
                                          format_number(*interval.high, 3) + "]"
                                    : "-",
                       format_number(budget.off_centre, 2),
                       budget.left_out.empty() ? "yes" : "no: " + budget.left_out});
    }
    text += base::format_table(cells);
    if (unmade > 0) {
      text += "  and " + std::to_string(unmade) + " budgets with fewer than " +
              std::to_string(kRowsOfAParabola) + " rows or one size\n";
    }
  }
  if (!approaches.isoflop_problem.empty()) {
    text += "2 iso-FLOP: none: " + approaches.isoflop_problem + "\n";
  }
  if (approaches.parametric) {
    text += "3 parametric: N* ~ C^" + format_number(approaches.parametric->a, 4) + ", D* ~ C^" +
            format_number(approaches.parametric->b, 4) + "\n";
  }
  if (!approaches.parametric_problem.empty()) {
    text += "3 parametric: none: " + approaches.parametric_problem + "\n";
  }
  if (approaches.exponent_spread) {
    text += "they disagree by " + format_number(*approaches.exponent_spread, 3) +
            " in the exponent of N*, and by a factor of " +
            format_number(*approaches.size_ratio, 3) + " in N* at ten times the largest budget\n";
  }
  return text;
}

}  // namespace windtunnel::scaling

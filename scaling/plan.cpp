#include "scaling/plan.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "scaling/optimum.h"
#include "scaling/row_noise.h"

namespace windtunnel::scaling {
namespace {

using base::Error;
using base::format_number;

constexpr size_t kRungsShown = 5;
constexpr std::array<double, 4> kFactors = {0.5, 2, 0.25, 4};

/// C of the rows over 6ND, for a law of C that was counted otherwise; 1 where no law asks.
/// Errors: Error if it is not one number.
double compute_over_six_nd(const LawFit& fit) {
  constexpr double kOneFactor = 1.1;
  const auto& variables = law_named(fit.law).entry.variables;
  const bool reads_compute =
      std::find(variables.begin(), variables.end(), Variable::kFlops) != variables.end();
  if (!reads_compute || fit.flops_convention == convention::kSixND) return 1;
  double low = INFINITY, high = 0;
  for (const Observation& row : fit.rows) {
    if (!row.flops || !row.parameters_active || !row.tokens) continue;
    const double factor = *row.flops / (6 * *row.parameters_active * *row.tokens);
    low = std::min(low, factor);
    high = std::max(high, factor);
  }
  if (!(high > 0)) return 1;
  if (high > kOneFactor * low) {
    throw Error("C of the rows goes from " + format_number(low, 3) + " to " +
                format_number(high, 3) +
                " times 6ND, so a budget says nothing about N and D; fit with C = 6ND (no C in the "
                "map), or loss_nd");
  }
  return std::sqrt(low * high);
}

Point point_at(const LawFit& fit, double parameters, double tokens) {
  return {parameters, tokens, compute_over_six_nd(fit) * 6 * parameters * tokens, tokens};
}

double loss_at(const LawFit& fit, const Minimum& minimum, double parameters, double tokens) {
  return predict(law_named(fit.law).entry, minimum.coefficients, minimum.exponents,
                 point_at(fit, parameters, tokens));
}

/// d residual / d (ln coefficients, exponents) at a point.
Eigen::VectorXd slope_at(const LawFit& fit, const Minimum& best, const Point& point) {
  const Law& law = law_named(fit.law).entry;
  const size_t terms = law.coefficients.size(), exponents = law.exponents.size();
  std::array<double, Law::kMaximumTerms> log_terms;
  std::array<double, Law::kMaximumTerms * Law::kMaximumExponents> slopes;
  law.log_terms(point, best.exponents.data(), log_terms.data(), slopes.data());
  const double loss = predict(law, best.coefficients, best.exponents, point);
  Eigen::VectorXd result = Eigen::VectorXd::Zero(static_cast<long>(terms + exponents));
  for (size_t k = 0; k < terms; ++k) {
    if (best.coefficients[k] <= 0) continue;
    const double value = std::exp(std::log(best.coefficients[k]) + log_terms[k]);
    const double share = fit.options.on == "log" ? value / loss : value;
    result(static_cast<long>(k)) = share;
    for (size_t j = 0; j < exponents; ++j) {
      result(static_cast<long>(terms + j)) += share * slopes[k * exponents + j];
    }
  }
  return result;
}

Interval interval_of(std::vector<double> values, double confidence) {
  if (values.empty()) return {};
  return {quantile_of(values, (1 - confidence) / 2), quantile_of(values, (1 + confidence) / 2)};
}

std::vector<NextRung> next_rungs(const LawFit& fit, const Minimum& best, const Point& wanted,
                                 const std::vector<double>& ratios) {
  const double noise = std::max(fit.diagnostics.noise_of_one_run, 1e-9);
  const long size = static_cast<long>(law_named(fit.law).entry.parameter_count());
  Eigen::MatrixXd information = Eigen::MatrixXd::Zero(size, size);
  double largest = 0;
  for (const Observation& row : fit.rows) {
    const Eigen::VectorXd slope = slope_at(fit, best, point_of(row));
    information += slope * slope.transpose() / (noise * noise);
    largest = std::max(largest, compute_of(point_of(row)));
  }
  // A direction the rows say nothing about is bounded by a prior of a factor of e^10.
  information.diagonal().array() += 1e-2;
  const Eigen::MatrixXd covariance = information.inverse();
  const Eigen::VectorXd target = slope_at(fit, best, wanted);
  const double variance = target.dot(covariance * target);
  const double compute = compute_over_six_nd(fit);
  std::vector<NextRung> rungs;
  for (const double budget : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    for (const double ratio : ratios) {
      NextRung rung;
      rung.flops = budget * largest;
      rung.tokens_per_parameter = ratio;
      rung.parameters = std::sqrt(rung.flops / (6 * compute * ratio));
      rung.tokens = ratio * rung.parameters;
      rung.predicted = loss_at(fit, best, rung.parameters, rung.tokens);
      const Eigen::VectorXd slope =
          slope_at(fit, best, point_at(fit, rung.parameters, rung.tokens));
      const double shared = target.dot(covariance * slope);
      const double gain = shared * shared / (noise * noise + slope.dot(covariance * slope));
      rung.sd_now = std::sqrt(variance);
      rung.sd_after = std::sqrt(std::max(0.0, variance - gain));
      rungs.push_back(rung);
    }
  }
  const auto for_a_flop = [](const NextRung& rung) {
    return (rung.sd_now * rung.sd_now - rung.sd_after * rung.sd_after) / rung.flops;
  };
  std::stable_sort(rungs.begin(), rungs.end(), [&](const NextRung& a, const NextRung& b) {
    return for_a_flop(a) > for_a_flop(b);
  });
  rungs.resize(std::min(rungs.size(), kRungsShown));
  for (NextRung& rung : rungs) {
    rung.interval = forecast_at(fit, point_at(fit, rung.parameters, rung.tokens)).interval;
  }
  return rungs;
}

/// Tokens per parameter of rows along one ratio; nullopt if they have several or no N and D.
std::optional<double> one_ratio(const LawFit& fit) {
  constexpr double kOneRatio = 1.05;
  double low = INFINITY, high = 0;
  for (const Observation& row : fit.rows) {
    if (!row.tokens || !row.parameters_active) return std::nullopt;
    low = std::min(low, *row.tokens / *row.parameters_active);
    high = std::max(high, *row.tokens / *row.parameters_active);
  }
  if (!(high > 0) || high > kOneRatio * low) return std::nullopt;
  return std::sqrt(low * high);
}

void add_bounds(const LawFit& fit, ComputePlan& plan) {
  double largest = 0, smallest = INFINITY;
  for (const Observation& row : fit.rows) {
    largest = std::max(largest, compute_of(point_of(row)));
    smallest = std::min(smallest, compute_of(point_of(row)));
  }
  if (plan.flops < 0.99 * smallest) {
    plan.warnings.push_back("C = " + format_number(plan.flops, 3) + " is " +
                            format_number(plan.flops / smallest, 3) +
                            " of the smallest fitted: the law was not tested downwards");
  }
  if (plan.flops > largest * std::max(1.0, fit.gate.tested_ratio)) {
    plan.warnings.push_back(
        "C = " + format_number(plan.flops, 3) + " is " + format_number(plan.flops / largest, 3) +
        " times the largest fitted; " +
        (fit.gate.tested > 0 ? "hold-outs tested the law up to " +
                                   format_number(std::max(1.0, fit.gate.tested_ratio), 3) + " times"
                             : std::string("no hold-out tested the law")));
  }
  for (const auto& [name, verdict] : fit.verdict.parameters) {
    if (verdict.verdict != identified::kRefused) continue;
    plan.warnings.push_back(name + " is not identified: " + base::join(verdict.reasons, "; "));
  }
}

/// For a law of C alone.
ComputePlan plan_along(const LawFit& fit, const Minimum& best, double ratio, double flops) {
  ComputePlan plan;
  plan.flops = flops;
  plan.tokens_per_parameter = ratio;
  plan.flops_convention = fit.flops_convention;
  plan.parameters = std::sqrt(flops / (6 * compute_over_six_nd(fit) * ratio));
  plan.tokens = ratio * plan.parameters;
  const Point point = point_at(fit, plan.parameters, plan.tokens);
  const PointForecast forecast = forecast_at(fit, point);
  plan.loss = forecast.predicted;
  plan.loss_interval = forecast.interval;
  plan.next_rungs = next_rungs(fit, best, point, {ratio});
  add_bounds(fit, plan);
  plan.warnings.push_back("law " + fit.law + " knows no best size: N and D follow the " +
                          format_number(ratio, 3) +
                          " tokens per parameter of its rows, and the loss's interval is that of "
                          "one new run; fit loss_nd to runs at several ratios for N*");
  return plan;
}

}  // namespace

PointForecast forecast_at(const LawFit& fit, const Point& point) {
  Target target = target_of(fit.rows, fit);
  const Objective objective(target);
  Minimum best = minimum_of(fit);
  best.objective = objective.at(best);
  const Noise noise = noise_of(objective, best, fit.options.confidence, fit.options.noise_floor);
  return {predict(*target.law, best.coefficients, best.exponents, point),
          forecast_interval(objective, best, noise, point)};
}

ComputePlan plan_compute(const LawFit& fit, double flops) {
  const Minimum best = minimum_of(fit);
  const Law& law = law_named(fit.law).entry;
  const auto optimum = optimum_of(law, best.coefficients, best.exponents);
  if (!optimum) {
    const auto ratio = law.response ? std::nullopt : one_ratio(fit);
    if (ratio) return plan_along(fit, best, *ratio, flops);
    throw Error("law " + fit.law +
                (law.response ? " describes no loss, which a plan weighs"
                              : " has no best size for a budget") +
                "; fit loss_nd or overtrain_nm");
  }
  ComputePlan plan;
  plan.flops = flops;
  plan.parameters = optimum->parameters(flops);
  plan.tokens = optimum->tokens(flops);
  plan.tokens_per_parameter = plan.tokens / plan.parameters;
  plan.loss = loss_at(fit, best, plan.parameters, plan.tokens);

  std::vector<double> sizes, tokens, losses;
  std::array<std::vector<double>, kFactors.size()> lost;
  for (const auto& draw : fit.draws) {
    const Minimum minimum = minimum_of_draw(fit, draw);
    const auto drawn = optimum_of(law, minimum.coefficients, minimum.exponents);
    if (!drawn) continue;
    sizes.push_back(drawn->parameters(flops));
    tokens.push_back(drawn->tokens(flops));
    losses.push_back(loss_at(fit, minimum, sizes.back(), tokens.back()));
    // What the choice made from the fit costs if this draw is the truth.
    for (size_t f = 0; f < kFactors.size(); ++f) {
      lost[f].push_back(
          loss_at(fit, minimum, kFactors[f] * plan.parameters, plan.tokens / kFactors[f]) -
          losses.back());
    }
  }
  const double confidence = fit.options.confidence;
  plan.parameters_interval = interval_of(sizes, confidence);
  plan.tokens_interval = interval_of(tokens, confidence);
  plan.loss_interval = interval_of(losses, confidence);
  for (size_t f = 0; f < kFactors.size(); ++f) {
    WrongChoice choice{.factor = kFactors[f],
                       .parameters = kFactors[f] * plan.parameters,
                       .tokens = plan.tokens / kFactors[f]};
    choice.loss = loss_at(fit, best, choice.parameters, choice.tokens);
    choice.loss_lost = choice.loss - plan.loss;
    choice.loss_lost_interval = interval_of(lost[f], confidence);
    plan.wrong_choices.push_back(choice);
  }
  plan.next_rungs =
      next_rungs(fit, best, point_at(fit, plan.parameters, plan.tokens), {5, 10, 20, 40, 80, 160});
  add_bounds(fit, plan);
  if (fit.draws.empty()) {
    plan.warnings.push_back("the fit has no bootstrap draws, so nothing here has an interval");
  }
  return plan;
}

std::string plan_text(const ComputePlan& plan) {
  const auto interval = [](const Interval& ends, bool count) {
    if (!ends.low || !ends.high) return std::string();
    const auto text = [&](double value) {
      return count ? base::format_count(value) : format_number(value, 4);
    };
    return " [" + text(*ends.low) + ", " + text(*ends.high) + "]";
  };
  std::string text =
      "for C = " + format_number(plan.flops, 4) + " (" + plan.flops_convention + ")\n";
  const bool has_optimum = !plan.wrong_choices.empty();
  text += (has_optimum ? "N*   " : "N    ") + base::format_count(plan.parameters) +
          interval(plan.parameters_interval, true) + "\n";
  text += (has_optimum ? "D*   " : "D    ") + base::format_count(plan.tokens) +
          interval(plan.tokens_interval, true) + "\n";
  text += "D/N  " + format_number(plan.tokens_per_parameter, 4) + "\n";
  text += "loss " + format_number(plan.loss, 5) + interval(plan.loss_interval, false) + "\n\n";
  std::vector<std::vector<std::string>> wrong = {
      {"N / N*", "N", "D", "loss", "lost", "interval of it"}};
  for (const WrongChoice& choice : plan.wrong_choices) {
    wrong.push_back({format_number(choice.factor), base::format_count(choice.parameters),
                     base::format_count(choice.tokens), format_number(choice.loss, 5),
                     format_number(choice.loss_lost, 3),
                     interval(choice.loss_lost_interval, false)});
  }
  if (has_optimum) text += base::format_table(wrong) + "\n";
  text += "next rungs, the one that tells most for a FLOP first\n";
  std::vector<std::vector<std::string>> rungs = {
      {"N", "D", "D/N", "C", "predicted", "one run in", "sd of the forecast", "with it"}};
  for (const NextRung& rung : plan.next_rungs) {
    rungs.push_back({base::format_count(rung.parameters), base::format_count(rung.tokens),
                     format_number(rung.tokens_per_parameter, 3), format_number(rung.flops, 3),
                     format_number(rung.predicted, 5), interval(rung.interval, false),
                     format_number(rung.sd_now, 3), format_number(rung.sd_after, 3)});
  }
  text += base::format_table(rungs);
  for (const std::string& warning : plan.warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace windtunnel::scaling

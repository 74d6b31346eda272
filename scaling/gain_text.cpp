// A verdict of gain.h for people.

#include <fmt/format.h>

#include "base/text.h"
#include "scaling/gain.h"

namespace windtunnel::scaling {
namespace {

using base::format_number;

std::string percent(double value) { return fmt::format("{:+.2f} %", 100 * value); }

std::string percent(const Interval& interval) {
  const auto end = [](const std::optional<double>& value) {
    return value ? percent(*value) : std::string("open");
  };
  return "[" + end(interval.low) + ", " + end(interval.high) + "]";
}

std::string rate_text(const ArmAtSize& arm) {
  return (arm.learning_rate ? format_number(*arm.learning_rate, 3) + " " : std::string()) +
         arm.rate_state;
}

std::string compute_text(const std::optional<ComputeGain>& gain) {
  if (!gain) return "-";
  const auto end = [](const std::optional<double>& value) {
    return value ? format_number(*value, 3) : std::string("open");
  };
  return format_number(gain->factor, 3) + " [" + end(gain->interval.low) + ", " +
         end(gain->interval.high) + "]";
}

std::string sizes_table(const GainVerdict& verdict) {
  std::vector<std::vector<std::string>> cells = {
      {"size", "C", verdict.baseline, verdict.changed, "gain", "pairs", "sd",
       "rate of " + verdict.baseline, "rate of " + verdict.changed, "compute gain"}};
  for (const SizeGain& size : verdict.sizes) {
    cells.push_back(
        {size.size, format_number(size.point.flops, 3), format_number(size.baseline.loss, 6),
         format_number(size.changed.loss, 6), percent(size.gain), std::to_string(size.pairs),
         size.standard_deviation ? percent(*size.standard_deviation).substr(1) : "-",
         rate_text(size.baseline), rate_text(size.changed), compute_text(size.compute_gain)});
  }
  return base::format_table(cells);
}

std::string trend_text(const GainTrend& trend) {
  if (!trend.slope) return "trend: not identified, " + trend.problem + "\n";
  std::string text = "trend: " + percent(*trend.slope) + " per e-fold of C ";
  text += trend.problem.empty() ? percent(trend.slope_interval)
                                : "(no interval: " + trend.problem + ")";
  text += "; at the largest size " + percent(*trend.at_largest);
  if (!trend.problem.empty()) return text + "\n";
  text += " " + percent(trend.at_largest_interval) + ", at " + format_number(kGainHorizon) +
          " times its C " + percent(trend.at_horizon_interval) +
          "\nnoise of one pair: " + fmt::format("{:.3g} %", 100 * *trend.noise) + ", " +
          trend.noise_source;
  if (trend.degrees_of_freedom) {
    text += ", " + std::to_string(*trend.degrees_of_freedom) +
            (*trend.degrees_of_freedom == 1 ? " degree of freedom" : " degrees of freedom");
  }
  return text + "\n";
}

}  // namespace

std::string gain_text(const GainVerdict& verdict) {
  std::string text = verdict.changed + " against " + verdict.baseline + ": " + verdict.verdict;
  if (verdict.verdict != verdict.by_trend)
    text += " (by the trend alone: " + verdict.by_trend + ")";
  text += "\n";
  for (const std::string& reason : verdict.reasons) text += "  " + reason + "\n";
  text += sizes_table(verdict) + trend_text(verdict.trend);
  if (!verdict.law.empty()) {
    text += "compute gain: the factor of C over which " + verdict.law + " of " + verdict.baseline +
            " falls by the gain of " + verdict.changed +
            "; intervals hold its parameters and the noise of the gain\n";
    for (const SizeGain& size : verdict.sizes) {
      if (!size.compute_gain || size.compute_gain->extrapolation_ratio <= 1.01) continue;
      text += "  at " + size.size + " that is " +
              format_number(size.compute_gain->extrapolation_ratio, 3) +
              " times the largest compute of " + verdict.baseline + ": extrapolated\n";
    }
  } else if (!verdict.law_problem.empty()) {
    text += "compute gain: none, " + verdict.law_problem + "\n";
  }
  for (const std::string& caveat : verdict.caveats) text += "note: " + caveat + "\n";
  return text + "rule: " + verdict.rule + "\n";
}

}  // namespace windtunnel::scaling

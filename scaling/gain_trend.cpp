// The rule of gain.h: a line through the gains and what its intervals say.

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/text.h"
#include "scaling/gain.h"

namespace windtunnel::scaling {
namespace {

using base::format_number;

/// Below this probability the scatter about the line is more than the seeds explain.
constexpr double kLackOfFit = 0.05;
/// Arms within this of each other count as spending the same.
constexpr double kSameCompute = 0.05;

std::string percent(double gain) {
  const std::string text = format_number(100 * gain, 3) + " %";
  return gain > 0 ? "+" + text : text;
}

std::string percent(const Interval& interval) {
  const auto end = [](const std::optional<double>& value) {
    return value ? percent(*value) : std::string("open");
  };
  return "[" + end(interval.low) + ", " + end(interval.high) + "]";
}

/// Weighted least squares of the gains on ln C; a size weighs as many as it has pairs.
struct Line {
  double middle = 0;
  double mean = 0;
  double slope = 0;
  double weight = 0;
  double spread = 0;
  /// Weighted sum of squared residuals: of sizes - 2 degrees, in units of one pair's variance.
  double residual = 0;

  explicit Line(const std::vector<SizeGain>& sizes) {
    for (const SizeGain& size : sizes) {
      const auto pairs = static_cast<double>(size.pairs);
      weight += pairs;
      middle += pairs * std::log(size.point.flops);
      mean += pairs * size.gain;
    }
    middle /= weight;
    mean /= weight;
    double products = 0;
    for (const SizeGain& size : sizes) {
      const auto pairs = static_cast<double>(size.pairs);
      const double x = std::log(size.point.flops) - middle;
      spread += pairs * x * x;
      products += pairs * x * (size.gain - mean);
    }
    slope = products / spread;
    for (const SizeGain& size : sizes) {
      const double off = size.gain - at(std::log(size.point.flops));
      residual += static_cast<double>(size.pairs) * off * off;
    }
  }

  double at(double log_flops) const { return mean + slope * (log_flops - middle); }
  /// Over one pair's variance.
  double variance_at(double log_flops) const {
    return 1 / weight + (log_flops - middle) * (log_flops - middle) / spread;
  }
};

struct PairNoise {
  double variance = 0;
  /// 0: known.
  int64_t degrees = 0;
  std::string source;

  double quantile(double confidence) const {
    const double share = (1 + confidence) / 2;
    if (degrees == 0) return boost::math::quantile(boost::math::normal(), share);
    return boost::math::quantile(boost::math::students_t(static_cast<double>(degrees)), share);
  }
};

/// Nullopt if neither seeds nor a third size measures it.
std::optional<PairNoise> noise_of_pairs(const std::vector<SizeGain>& sizes, const Line& line,
                                        const std::optional<double>& given) {
  PairNoise seeds{.source = "seeds"};
  double squares = 0;
  for (const SizeGain& size : sizes) {
    if (!size.standard_deviation) continue;
    squares +=
        static_cast<double>(size.pairs - 1) * *size.standard_deviation * *size.standard_deviation;
    seeds.degrees += size.pairs - 1;
  }
  if (seeds.degrees > 0) seeds.variance = squares / static_cast<double>(seeds.degrees);
  if (given) seeds = {.variance = *given * *given, .degrees = 0, .source = "given"};
  const bool has_seeds = given || seeds.degrees > 0;

  const int64_t free = static_cast<int64_t>(sizes.size()) - 2;
  if (free <= 0) return has_seeds ? std::optional(seeds) : std::nullopt;
  const PairNoise scatter{.variance = line.residual / static_cast<double>(free),
                          .degrees = free,
                          .source = "scatter about the line"};
  if (!has_seeds) return scatter;
  // Does the line fit as well as the seeds allow? If not, its own scatter is the noise.
  if (seeds.variance > 0) {
    const double ratio = scatter.variance / seeds.variance;
    // A known variance is one of very many degrees.
    constexpr double kKnown = 1e9;
    const boost::math::fisher_f fisher(static_cast<double>(free),
                                       given ? kKnown : static_cast<double>(seeds.degrees));
    if (boost::math::cdf(boost::math::complement(fisher, ratio)) < kLackOfFit) return scatter;
  } else if (scatter.variance > 0) {
    return scatter;
  }
  if (given) return seeds;
  const int64_t degrees = seeds.degrees + free;
  return PairNoise{.variance = (squares + line.residual) / static_cast<double>(degrees),
                   .degrees = degrees,
                   .source = "seeds and scatter"};
}

GainTrend trend_of(const std::vector<SizeGain>& sizes, const GainOptions& options) {
  GainTrend trend;
  if (sizes.size() < 2) {
    trend.problem = "one size shows no trend; train both arms at two more";
    return trend;
  }
  const Line line(sizes);
  if (!(line.spread > 1e-12)) {
    trend.problem = "all sizes have the same compute, so nothing tells how the gain moves with it";
    return trend;
  }
  const double largest = std::log(sizes.back().point.flops);
  trend.slope = line.slope;
  trend.at_largest = line.at(largest);
  const auto noise = noise_of_pairs(sizes, line, options.noise);
  if (!noise) {
    trend.problem =
        "two sizes with one pair of runs each: nothing measures the noise; add a size or a seed";
    return trend;
  }
  trend.noise = std::sqrt(noise->variance);
  if (noise->degrees > 0) trend.degrees_of_freedom = noise->degrees;
  trend.noise_source = noise->source;
  const double reach = noise->quantile(options.confidence) * *trend.noise;
  const auto around = [](double value, double half) {
    return Interval{value - half, value + half};
  };
  const double horizon = largest + std::log(kGainHorizon);
  trend.slope_interval = around(line.slope, reach / std::sqrt(line.spread));
  trend.at_largest_interval =
      around(line.at(largest), reach * std::sqrt(line.variance_at(largest)));
  trend.at_horizon_interval =
      around(line.at(horizon), reach * std::sqrt(line.variance_at(horizon)));
  return trend;
}

std::string verdict_by(const GainTrend& trend, std::vector<std::string>& reasons) {
  if (!trend.problem.empty()) {
    reasons.push_back(trend.problem);
    return gain_verdict::kUndecided;
  }
  const std::string slope = "the gain moves by " + percent(*trend.slope) + " per e-fold of C " +
                            percent(trend.slope_interval);
  const std::string largest = "at the largest size it is " + percent(*trend.at_largest) + " " +
                              percent(trend.at_largest_interval);
  const std::string horizon = "at " + format_number(kGainHorizon) + " times its C the line is in " +
                              percent(trend.at_horizon_interval);
  if (*trend.at_largest_interval.high < 0) {
    reasons = {largest + ", below 0"};
    return gain_verdict::kNoGain;
  }
  if (*trend.slope_interval.high < 0) {
    reasons = {slope + ", below 0"};
    return gain_verdict::kDiminishing;
  }
  if (*trend.at_largest_interval.low > 0 && *trend.at_horizon_interval.low > 0) {
    reasons = {largest + ", above 0", horizon + ", above 0"};
    return gain_verdict::kScaling;
  }
  reasons = {largest, slope, horizon + "; an interval that holds 0 decides nothing"};
  return gain_verdict::kUndecided;
}

/// What is wrong with the rates of one arm: a clause for each kind, with the sizes.
void add_rate_problems(const std::vector<SizeGain>& sizes, const char* name,
                       ArmAtSize SizeGain::*arm, std::vector<std::string>& reasons) {
  std::vector<std::string> untuned, edge;
  for (const SizeGain& size : sizes) {
    const ArmAtSize& at = size.*arm;
    const std::string rate =
        at.learning_rate ? " (" + format_number(*at.learning_rate, 3) + ")" : std::string();
    if (at.rate_state == arm_rate::kUntuned) untuned.push_back(size.size + rate);
    if (at.rate_state == arm_rate::kEdge) edge.push_back(size.size + rate);
  }
  if (!untuned.empty()) {
    reasons.push_back(std::string("the rate of ") + name + " was not tuned at " + some_of(untuned));
  }
  if (!edge.empty()) {
    reasons.push_back(std::string("the best rate of ") + name + " is at the edge of its grid at " +
                      some_of(edge));
  }
}

}  // namespace

std::string gain_rule(double confidence) {
  return "gain = ln(loss of the baseline / loss of the changed model), each at its best learning "
         "rate, paired by seed; a line over ln C, intervals at " +
         format_number(100 * confidence) +
         " % by Student's t. needs retuning: a best rate at the edge of its grid or not tuned at "
         "that size, or a gain whose sign differs between the two arms' best rates. no gain: the "
         "line at the largest size is below 0. diminishing: the slope is below 0. scaling: the "
         "line is above 0 at the largest size and at " +
         format_number(kGainHorizon) + " times its C. undecided: otherwise.";
}

GainVerdict judge_gain(const std::vector<SizeGain>& sizes, const GainOptions& options) {
  GainVerdict verdict{
      .rule = gain_rule(options.confidence), .confidence = options.confidence, .sizes = sizes};
  const auto by_compute = [](const SizeGain& a, const SizeGain& b) {
    return a.point.flops < b.point.flops;
  };
  std::stable_sort(verdict.sizes.begin(), verdict.sizes.end(), by_compute);
  verdict.trend = trend_of(verdict.sizes, options);
  std::vector<std::string> reasons;
  verdict.by_trend = verdict_by(verdict.trend, reasons);
  std::vector<std::string> unknown;
  std::vector<std::string> dearer;
  add_rate_problems(verdict.sizes, "the baseline", &SizeGain::baseline, verdict.reasons);
  add_rate_problems(verdict.sizes, "the changed model", &SizeGain::changed, verdict.reasons);
  for (const SizeGain& size : verdict.sizes) {
    if (size.gain_at_baseline_rate && size.gain_at_changed_rate &&
        *size.gain_at_baseline_rate * *size.gain_at_changed_rate < 0) {
      verdict.reasons.push_back(
          "at " + size.size + " the gain is " + percent(*size.gain_at_baseline_rate) +
          " at the baseline's best rate and " + percent(*size.gain_at_changed_rate) +
          " at the changed model's: the grid is too coarse for its sign");
    }
    if (std::abs(size.changed.flops / size.baseline.flops - 1) > kSameCompute) {
      dearer.push_back(size.size + " (" +
                       format_number(size.changed.flops / size.baseline.flops, 3) + ")");
    }
    if (size.baseline.rate_state == arm_rate::kUnknown ||
        size.changed.rate_state == arm_rate::kUnknown) {
      unknown.push_back(size.size);
    }
  }
  std::vector<std::string> unpaired;
  for (const SizeGain& size : verdict.sizes) {
    if (size.unpaired > 0) {
      unpaired.push_back(size.size + " (" + std::to_string(size.unpaired) + ")");
    }
  }
  if (!unpaired.empty()) {
    verdict.caveats.push_back("runs whose seed the other arm has not, in no pair, at " +
                              some_of(unpaired));
  }
  if (!unknown.empty()) {
    verdict.caveats.push_back("whether the learning rates were tuned is not recorded at " +
                              some_of(unknown) + "; a gain can be a better rate");
  }
  if (!dearer.empty()) {
    verdict.caveats.push_back(
        "the changed model spends another C on the same tokens, in times the "
        "baseline's: " +
        some_of(dearer) + "; the gain is at equal tokens, the compute gain counts what it spent");
  }
  const bool has_seeds = std::all_of(verdict.sizes.begin(), verdict.sizes.end(),
                                     [](const SizeGain& size) { return size.pairs > 1; });
  if (verdict.trend.noise_source == "scatter about the line" &&
      *verdict.trend.degrees_of_freedom < 3) {
    verdict.caveats.push_back(
        "the noise is judged from " + std::to_string(*verdict.trend.degrees_of_freedom) +
        (*verdict.trend.degrees_of_freedom == 1 ? " degree" : " degrees") + " of freedom; " +
        (has_seeds ? "another size" : "a second seed") + " would narrow the intervals");
  }
  const bool retune = !verdict.reasons.empty();
  verdict.verdict = retune ? gain_verdict::kNeedsRetuning : verdict.by_trend;
  if (!retune) verdict.reasons = reasons;
  return verdict;
}

}  // namespace windtunnel::scaling

#pragma once
// Does a gain scale? Two arms (a baseline and a changed model) trained at several sizes on the same
// tokens, and a verdict by a rule that stands here before any number does:
//
//   gain      g = ln(L_baseline / L_changed) at each size, mean over the seeds both completed;
//             positive: the changed model is better. Each arm at its own best learning rate.
//   trend     the line g = g_0 + s ln C through the sizes, weighted by their pairs of seeds; its
//             intervals from Student's t with the noise that GainTrend::noise_source names.
//
//   needs retuning  at any size, the rate of either arm is at the edge of its grid or was not tuned
//                   there; or the gain has one sign at the baseline's best rate and the other at
//                   the changed model's: each arm at its own best lies between those two, so the
//                   grid is too coarse to give it a sign. Goes before all others.
//   no gain         the interval of the line at the largest size lies below 0
//   diminishing     the interval of s lies below 0
//   scaling         the intervals of the line at the largest size, and at kGainHorizon times its
//                   compute, both lie above 0
//   undecided       otherwise, and where nothing measures the noise
//
// A relative gain is not the last word: near an irreducible loss it shrinks though the change is
// worth as much compute as before. The compute-equivalent gain says that: the C at which a law
// fitted to the baseline has fallen by the gain, over the C that the changed model spent. The gain
// is that of paired runs, so that what the law misses at a size (and what its seeds share) is no
// gain.

#include <optional>
#include <string>
#include <vector>

#include "scaling/law_fit.h"
#include "scaling/observations.h"

namespace windtunnel::scaling {

/// Stored by name.
namespace gain_verdict {
inline constexpr const char* kScaling = "scaling";
inline constexpr const char* kDiminishing = "diminishing";
inline constexpr const char* kNoGain = "no gain";
inline constexpr const char* kNeedsRetuning = "needs retuning";
inline constexpr const char* kUndecided = "undecided";
}  // namespace gain_verdict

/// How far beyond the largest size a gain must still be there to be called scaling, in C.
inline constexpr double kGainHorizon = 10;

/// What is known of the learning rate of an arm at a size.
namespace arm_rate {
inline constexpr const char* kTuned = "tuned";
inline constexpr const char* kEdge = "edge";
inline constexpr const char* kUntuned = "untuned";
inline constexpr const char* kUnknown = "unknown";
}  // namespace arm_rate

struct ArmAtSize {
  /// Mean over seeds at `learning_rate`.
  double loss = 0;
  int64_t runs = 0;
  /// C of one run; an arm of another shape may spend more on the same tokens.
  double flops = 0;
  /// The best tried; null: not recorded.
  std::optional<double> learning_rate;
  std::string rate_state = arm_rate::kUnknown;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("loss", self.loss, {.help = "mean over seeds at its best rate"});
    visit("runs", self.runs, {.help = "at that rate"});
    visit("flops", self.flops, {.help = "C of one run"});
    visit("learning_rate", self.learning_rate, {.help = "best tried; null: not recorded"});
    visit("rate_state", self.rate_state, {.help = "tuned, edge, untuned, unknown"});
  }
};

struct ComputeGain {
  /// The C that the baseline would need over the C that the changed model spent.
  double factor = 1;
  /// The factors at which the baseline's law could lie that far below itself: its parameters and
  /// the noise of the gain. An end that the rows do not bound is null.
  Interval interval;
  /// factor * C over the largest C the law was fitted to; above 1: extrapolated.
  double extrapolation_ratio = 1;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("factor", self.factor,
          {.help = "C the baseline would need over C the changed model spent"});
    visit("interval", self.interval, {.help = "parameters of its law and noise of the gain"});
    visit("extrapolation_ratio", self.extrapolation_ratio,
          {.help = "of that C over the largest the law was fitted to"});
  }
};

struct SizeGain {
  std::string size;
  /// Of the baseline.
  Point point;
  ArmAtSize baseline;
  ArmAtSize changed;
  /// ln(L_baseline / L_changed).
  double gain = 0;
  /// Seeds both arms completed; 1 where seeds are not recorded.
  int64_t pairs = 1;
  /// Runs with a seed that the other arm does not have; they count in the means of the arms only.
  int64_t unpaired = 0;
  /// Of the gain of one pair, over seeds; null: one pair.
  std::optional<double> standard_deviation;
  /// At one rate for both arms, each arm's best; null where not both were tried by both.
  std::optional<double> gain_at_baseline_rate;
  std::optional<double> gain_at_changed_rate;
  std::optional<ComputeGain> compute_gain;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("size", self.size, {.help = "name"});
    visit("parameters", self.point.parameters, {.help = "N of the baseline; 0: not recorded"});
    visit("tokens", self.point.tokens, {.help = "D; 0: not recorded"});
    visit("flops", self.point.flops, {.help = "C of the baseline"});
    visit("baseline", self.baseline, {.help = "the arm to beat"});
    visit("changed", self.changed, {.help = "the arm with the change"});
    visit("gain", self.gain, {.help = "ln(L_baseline / L_changed); positive is better"});
    visit("pairs", self.pairs, {.help = "seeds that both completed"});
    visit("unpaired", self.unpaired, {.help = "runs with a seed that the other arm has not"});
    visit("standard_deviation", self.standard_deviation,
          {.help = "of the gain of one pair over seeds; null: one pair"});
    visit("gain_at_baseline_rate", self.gain_at_baseline_rate,
          {.help = "both arms at the baseline's best rate; null: not tried by both"});
    visit("gain_at_changed_rate", self.gain_at_changed_rate,
          {.help = "both arms at the changed model's best rate; null: not tried by both"});
    visit("compute_gain", self.compute_gain, {.help = "in compute; null: no law of the baseline"});
  }
};

/// The line through the gains. Everything is null where the sizes or the noise do not give it.
struct GainTrend {
  /// Of the gain per e-fold of C.
  std::optional<double> slope;
  Interval slope_interval;
  /// Of the line at the largest size and at kGainHorizon times its C.
  std::optional<double> at_largest;
  Interval at_largest_interval;
  Interval at_horizon_interval;
  /// Standard deviation of the gain of one pair.
  std::optional<double> noise;
  /// Null: the noise is known.
  std::optional<int64_t> degrees_of_freedom;
  /// "given", "seeds", "scatter about the line", "seeds and scatter".
  std::string noise_source;
  /// Why there is no interval; "" if there is.
  std::string problem;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("slope", self.slope, {.help = "of the gain per e-fold of C"});
    visit("slope_interval", self.slope_interval, {.help = "null ends: not identified"});
    visit("at_largest", self.at_largest, {.help = "the line at the largest size"});
    visit("at_largest_interval", self.at_largest_interval, {.help = "of it"});
    visit("at_horizon_interval", self.at_horizon_interval, {.help = "at ten times its C"});
    visit("noise", self.noise, {.help = "sd of the gain of one pair; null: not measured"});
    visit("degrees_of_freedom", self.degrees_of_freedom, {.help = "null: the noise is given"});
    visit("noise_source", self.noise_source, {.help = "what measured the noise"});
    visit("problem", self.problem, {.help = "why there is no interval; empty if there is"});
  }
};

struct GainVerdict {
  std::string baseline;
  std::string changed;
  std::string verdict = gain_verdict::kUndecided;
  /// By the line alone, as if all rates were right.
  std::string by_trend = gain_verdict::kUndecided;
  /// Why; one clause each, with the numbers.
  std::vector<std::string> reasons;
  /// What to know that changes no verdict, e.g. rates that nobody recorded.
  std::vector<std::string> caveats;
  std::string rule;
  double confidence = 0.95;
  std::string loss_unit;
  std::vector<SizeGain> sizes;
  GainTrend trend;
  /// The baseline's, behind the compute-equivalent gains; "" and a problem where there is none.
  std::string law;
  std::string law_problem;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("baseline", self.baseline, {.help = "the arm to beat"});
    visit("changed", self.changed, {.help = "the arm with the change"});
    visit("verdict", self.verdict,
          {.help = "scaling, diminishing, no gain, needs retuning, undecided"});
    visit("by_trend", self.by_trend, {.help = "by the line alone, as if all rates were right"});
    visit("reasons", self.reasons, {.help = "why, with the numbers"});
    visit("caveats", self.caveats, {.help = "what to know that changes no verdict"});
    visit("rule", self.rule, {.help = "that gave the verdict"});
    visit("confidence", self.confidence, {.help = "of all intervals"});
    visit("loss_unit", self.loss_unit, {.help = "of the losses"});
    visit("sizes", self.sizes, {.help = "smallest compute first"});
    visit("trend", self.trend, {.help = "of the gain over ln C"});
    visit("law", self.law, {.help = "of the baseline, behind the compute gains"});
    visit("law_problem", self.law_problem, {.help = "why there is none"});
  }
};

struct GainOptions {
  double confidence = 0.95;
  /// Known standard deviation of the gain of one pair (relative).
  std::optional<double> noise;
  /// Of the baseline; "": loss_nd where tokens per parameter vary, loss_c where budgets could
  /// identify its offset, else power_c.
  std::string law;
};

/// The rule in a paragraph, at this confidence.
std::string gain_rule(double confidence);

/// The arms size by size, smallest compute first. `rows` hold Observation::arm; sizes are paired by
/// Observation::size or, where no row has one, by N and D (to 1 %). Of several learning rates of an
/// arm at a size, those with the most seeds compete and the lowest mean loss wins.
/// Errors: Error if an arm has no rows, arms share no size, a size has other tokens in the two arms
/// (by more than 1 %), or the rows mix units, conventions or data.
std::vector<SizeGain> gains_by_size(const std::vector<Observation>& rows,
                                    const std::string& baseline, const std::string& changed);

/// Trend and verdict of `sizes`.
GainVerdict judge_gain(const std::vector<SizeGain>& sizes, const GainOptions& options = {});

/// All of it: gains, verdict, compute-equivalent gains.
/// Errors: as gains_by_size.
GainVerdict compare_arms(const std::vector<Observation>& rows, const std::string& baseline,
                         const std::string& changed, const GainOptions& options = {});

/// The factor k at which `fit`, a law of the baseline, reaches `loss` at C = k * point.flops (N and
/// D grow alike). Nullopt if the law does not reach it within a factor of 10,000 either way.
/// `weight`: the noise of one run over that of the gain, see forecast_interval.
/// Source:  the interval is inverse prediction: {k : loss lies in the law's interval of one new row
/// of
///          that weight at k C}, Fieller's theorem for a law that is a straight line.
std::optional<ComputeGain> compute_gain(const Target& target, const Minimum& best,
                                        const Noise& noise, const Point& point, double loss,
                                        double weight);

/// Sizes that only one of the arms was trained at: they are in no gain.
std::vector<std::string> sizes_of_one_arm(const std::vector<Observation>& rows,
                                          const std::string& baseline, const std::string& changed);

/// The arms of `rows` in order of appearance.
std::vector<std::string> arms_of(const std::vector<Observation>& rows);

/// For people.
std::string gain_text(const GainVerdict& verdict);

}  // namespace windtunnel::scaling

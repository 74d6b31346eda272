#pragma once
// The ladder of sizes and the law through it, as far as the journal has them: runs with purpose
// "ladder" and the facts "ladder.plan", "ladder.rungs", "ladder.pairs", "ladder.gains",
// "ladder.forecast", "plan.forecasts" and "fit". The facts are read key by key, as their writers
// describe them in scaling/; what is absent stays absent, and the page says "not available" in its
// place.

#include <optional>
#include <string>
#include <vector>

#include "report/study_data.h"

namespace windtunnel::report {

struct RungView {
  std::string name;
  bool is_held_out = false;
  /// Of a variant: the rung it is paired with; else "".
  std::string base_rung;
  std::optional<double> learning_rate;
  /// "tuned", "edge", "extrapolated", "given"; "" until it is known.
  std::string rate_status;
  std::optional<double> parameters_active;
  std::optional<double> tokens;
  /// Training FLOPs by the convention of the plan.
  std::optional<double> flops;
  /// Of training one run.
  std::optional<double> planned_seconds;
  std::optional<double> measured_seconds;
  /// Mean over the completed runs of the rung.
  std::optional<double> bits_per_byte;
  std::vector<double> bits_per_byte_by_run;
  /// "planned", "completed", "not finished", or how its runs ended.
  std::string state;
};

struct LawParameter {
  std::string name;
  std::optional<double> value;
  /// An end that the data do not bound is absent.
  std::optional<double> low;
  std::optional<double> high;
  /// "identified", "weak", "refused".
  std::string verdict;
  std::vector<std::string> reasons;
};

/// A point of the fitted curve with its band.
struct LawPoint {
  double flops = 0;
  double bits_per_byte = 0;
  std::optional<double> low;
  std::optional<double> high;
};

struct LawView {
  std::string formula;
  std::vector<LawParameter> parameters;
  std::string loss_unit;
  std::optional<double> confidence;
  /// The worst of the parameters' verdicts.
  std::string verdict;
  std::vector<LawPoint> curve;
  std::vector<std::string> warnings;
};

/// A forecast of one size from the same runs under one assumption, e.g. a pinned offset.
struct AlternativeView {
  std::string forecast;
  std::string assumption;
  std::optional<double> predicted;
};

struct HeldOutView {
  /// Of the rung; with several seeds, of the run.
  std::string name;
  std::optional<double> flops;
  std::optional<double> predicted;
  std::optional<double> low;
  std::optional<double> high;
  std::optional<double> measured;
  /// measured / predicted - 1; positive is worse than forecast.
  std::optional<double> relative_error;
  std::optional<bool> covered;
};

/// A variant against the base at one size.
struct PairView {
  std::string rung;
  std::string base_rung;
  std::optional<double> pairs;
  std::optional<double> difference;
  std::optional<double> relative;
  std::optional<double> standard_deviation;
};

/// Whether a variant's gain over the base scales; the fact "ladder.gains".
struct GainView {
  std::string baseline;
  std::string changed;
  std::string verdict;
  std::vector<std::string> reasons;
  std::string rule;
  /// Of the gain per e-fold of C, relative.
  std::optional<double> slope;
  std::optional<double> slope_low;
  std::optional<double> slope_high;
  std::optional<double> at_largest;
  std::optional<double> at_largest_low;
  std::optional<double> at_largest_high;
  /// The factor of compute that the baseline would need at the largest size.
  std::optional<double> compute_factor;
  std::optional<double> compute_low;
  std::optional<double> compute_high;
};

struct LadderView {
  /// How FLOPs are counted, e.g. "6ND".
  std::string flops_convention;
  /// In the order of the plan, smallest first.
  std::vector<RungView> rungs;
  std::vector<PairView> pairs;
  std::vector<GainView> gains;
  std::optional<LawView> law;
  /// Forecasts, with their outcome where it is known.
  std::vector<HeldOutView> held_out;
  /// The same of rungs that were planned later; the fact "plan.forecasts".
  std::vector<HeldOutView> planned;
  std::vector<AlternativeView> alternatives;

  bool empty() const { return rungs.empty() && !law; }
};

LadderView ladder_view(const StudyData& data);

}  // namespace windtunnel::report

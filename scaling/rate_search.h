#pragma once
// The learning rate of a size: a coarse grid whose points all sizes share, the rule that carries
// the optima of smaller sizes to the next one, and what a grid's outcome says. No journal, no runs.
//
// The grid is base_rate * factor^k for whole k, so that sizes and curves meet in the same rates.
// The rule is a straight line of ln(optimum) over ln N. Neighbouring sizes measured on a coarse
// grid say little about its slope, so the slope has a prior: the ladder's learning_rate_exponent.

#include <optional>
#include <string>
#include <vector>

#include "scaling/ladder_config.h"

namespace windtunnel::scaling {

/// Rates above are refused by the trainer's configuration.
inline constexpr double kLargestRate = 10;

struct SizeAndRate {
  /// N, active parameters.
  double parameters = 0;
  double rate = 0;
};

/// ln rate = ybar + s (ln N - xbar): s has the prior N(exponent, exponent_sd^2), each optimum the
/// error of a uniform draw from one step of the grid. Without optima, the base's rate with the
/// prior's slope.
class RateRule {
 public:
  RateRule(SizeAndRate base, const std::vector<SizeAndRate>& optima, double exponent,
           const RateGridConfig& grid);

  double rate(double parameters) const;
  /// Standard deviation of ln rate.
  double log_sd(double parameters) const;
  /// s, after the optima.
  double exponent() const { return slope_; }

 private:
  double mean_log_size_ = 0;
  double mean_log_rate_ = 0;
  double slope_ = 0;
  double slope_variance_ = 0;
  double mean_variance_ = 0;
};

/// `grid.points` rates around the one of the shared grid that is nearest to `wanted`, ascending;
/// none above kLargestRate.
std::vector<double> rate_grid(double base_rate, double wanted, const RateGridConfig& grid);

/// How one rate did.
struct RateTrial {
  enum class State { kPending, kMeasured, kDiverged, kUnusable };
  double rate = 0;
  State state = State::kPending;
  /// Of a measured one.
  double loss = 0;
};

/// Stored by name.
namespace rate_status {
/// Set by the rung or variant.
inline constexpr const char* kGiven = "given";
/// From the rule, not tried at this size.
inline constexpr const char* kExtrapolated = "extrapolated";
/// The best of a grid, with worse rates on both sides.
inline constexpr const char* kTuned = "tuned";
/// The best of a grid, and its first or last.
inline constexpr const char* kEdge = "edge";
}  // namespace rate_status

struct RateChoice {
  /// False while trials are pending or `next` is there.
  bool settled = false;
  /// The rate that extends the grid, at the edge where the best lies.
  std::optional<double> next;
  /// Index of the best trial; nullopt if none was measured.
  std::optional<size_t> best;
  /// "tuned" or "edge".
  std::string status;
  /// Where ln loss over ln rate has its minimum: the vertex of the parabola through the best and
  /// its neighbours, or the best rate itself if a neighbour is missing or diverged.
  double optimum = 0;
  /// One clause for people.
  std::string note;
};

/// `trials` ascending by rate: `grid.points` of them and then what `next` asked for. A diverged
/// rate counts as measured and worse than any; an unusable one (crashed, out of memory) as not
/// there. Equal losses: the lower rate.
RateChoice choose_rate(const std::vector<RateTrial>& trials, double base_rate,
                       const RateGridConfig& grid);

}  // namespace windtunnel::scaling

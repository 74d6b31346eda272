#pragma once
// Two configurations of a study, compared as the gate would but without a decision.

#include <string>
#include <vector>

#include "base/config.h"
#include "study/journal.h"

namespace windtunnel::agent {

struct SeedDifference {
  int64_t seed = 0;
  double first = 0;
  double second = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("seed", self.seed, {.help = "of both runs"});
    visit("first", self.first, {.help = "bits per byte"});
    visit("second", self.second, {.help = "bits per byte"});
  }
};

struct Comparison {
  int64_t first = 0;
  int64_t second = 0;
  std::string comparability_key;
  std::vector<SeedDifference> pairs;
  /// first - second; negative: the first is better. Paired where they share seeds, else the
  /// difference of means.
  double delta_bits_per_byte = 0;
  bool is_paired = true;
  /// 80 and 95 %.
  double interval_low_80 = 0, interval_high_80 = 0;
  double interval_low_95 = 0, interval_high_95 = 0;
  /// One-sided p-value of "the better one is no better".
  double p_value = 0;
  int64_t degrees = 0;
  /// One was chosen by runs on seeds of this comparison: its value looks better than it is.
  bool is_selected = false;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("first", self.first, {.help = "experiment; 0: the baseline"});
    visit("second", self.second, {.help = "experiment; 0: the baseline"});
    visit("comparability_key", self.comparability_key, {.help = "of all runs compared"});
    visit("pairs", self.pairs, {.help = "runs with equal seeds"});
    visit("delta_bits_per_byte", self.delta_bits_per_byte, {.help = "first - second"});
    visit("is_paired", self.is_paired, {.help = "over equal seeds, else difference of means"});
    visit("interval_low_80", self.interval_low_80, {.help = "of the difference"});
    visit("interval_high_80", self.interval_high_80, {.help = "of the difference"});
    visit("interval_low_95", self.interval_low_95, {.help = "of the difference"});
    visit("interval_high_95", self.interval_high_95, {.help = "of the difference"});
    visit("p_value", self.p_value, {.help = "one-sided"});
    visit("degrees", self.degrees, {.help = "degrees of freedom of the noise"});
    visit("is_selected", self.is_selected,
          {.help = "one was kept because of runs that are compared here"});
  }
};

/// Errors: Error if one does not exist, has no completed run, or the noise is not known;
/// NotComparable if their runs differ in more than configuration.
Comparison compare(const study::Journal& journal, int64_t first, int64_t second);

/// What a night gained, baseline - incumbent in bits per byte, both by the runs that had no part in
/// choosing the incumbent; 0 if nothing was kept, nullopt without a night.
std::optional<double> night_gain(const study::Journal& journal);

}  // namespace windtunnel::agent

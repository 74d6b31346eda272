#pragma once
// How much bits per byte move when nothing but the seed changes. One object serves the keep gate
// and, as weights, the scaling fits.
//
// Two figures, both from completed runs of one comparability key:
//   one run     sd of a configuration's runs around their mean, pooled over configurations;
//   one pair    sd of (candidate - incumbent) at the same seed. Runs form a table of configurations
//               and seeds; with the additive model y_cs = configuration_c + seed_s + e_cs the
//               pair's variance is 2 var(e). What the seeds have in common drops out, and an
//               incumbent that many pairs share is counted once, which pooling the differences
//               would not do.
//
// Configurations far worse than the first one stay out: a half-diverged model has noise of its own.
// Leaving out by the mean does not bias a variance.

#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "study/run_record.h"

namespace windtunnel::agent {

struct Noise {
  std::string comparability_key;
  /// Bits per byte; null with fewer than two runs of any configuration.
  std::optional<double> run_sd;
  int64_t run_degrees = 0;
  /// Bits per byte; null while no two configurations share two seeds.
  std::optional<double> pair_sd;
  int64_t pair_degrees = 0;
  /// Of the first configuration alone; null with fewer than two runs of it.
  std::optional<double> baseline_sd;
  int64_t baseline_degrees = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("comparability_key", self.comparability_key, {.help = "what the figures hold for"});
    visit("run_sd", self.run_sd, {.help = "sd of one run over seeds, bits per byte"});
    visit("run_degrees", self.run_degrees, {.help = "degrees of freedom of run_sd"});
    visit("pair_sd", self.pair_sd, {.help = "sd of a difference at one seed, bits per byte"});
    visit("pair_degrees", self.pair_degrees, {.help = "degrees of freedom of pair_sd"});
    visit("baseline_sd", self.baseline_sd, {.help = "sd of one baseline run, bits per byte"});
    visit("baseline_degrees", self.baseline_degrees, {.help = "degrees of freedom of baseline_sd"});
  }

  /// A variance with its degrees of freedom; 0 of them: unknown.
  struct Variance {
    double value = 0;
    int64_t degrees = 0;
  };

  /// Variance of one paired difference as the gate uses it: pair_sd^2, pooled with the baseline's
  /// 2 baseline_sd^2. The second is the variance of a pair that shares nothing, so it can only be
  /// too careful; it carries the first decisions and fades as pairs come in.
  Variance pair_variance() const;

  /// Share of the variance of a run that its seed explains whatever the configuration, in [0, 1]:
  /// 1 - pair_sd^2 / (2 run_sd^2). 0 while it is not known, which is the careful side.
  double seed_share() const;
};

/// The noise of one comparability key; other records and unfinished ones are passed over. The first
/// configuration among `records` is the baseline.
Noise measure_noise(const std::vector<study::RunRecord>& records, const std::string& key);

}  // namespace windtunnel::agent

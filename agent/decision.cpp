#include "agent/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "agent/boundary.h"
#include "base/text.h"

namespace windtunnel::agent {

namespace {

// A candidate is given up when its chance of still being kept falls below this.
constexpr double kFutility = 0.05;
// Of either side of an interval of a control.
constexpr double kControlTail = 0.1;

/// Weight of the incumbent's further runs, and the variance of the difference over that of a pair.
struct Weighting {
  double weight = 0;
  double variance = 1;
};

Weighting weighting(int64_t pairs, int64_t further, double seed_share) {
  const auto n = static_cast<double>(pairs), k = static_cast<double>(further);
  const double weight = (1 - seed_share) * k / (n + k);
  return {weight, (2 - weight) / (2 * n)};
}

/// Runs of the incumbent beyond the pairs of a look.
int64_t further_runs(const SequentialTest& test, int64_t pairs) {
  return std::max<int64_t>(0, test.incumbent_runs - pairs);
}

struct Differences {
  double mean = 0;
  double squares = 0;  // of the pairs around their mean
  int64_t count = 0;
};

/// Of the pairs alone.
Differences differences_of(const std::vector<Pair>& pairs) {
  Differences all;
  for (const Pair& pair : pairs) {
    base::check(pair.candidate.completed() && pair.incumbent.completed(),
                "only completed runs are compared");
    base::check(pair.candidate.seed == pair.incumbent.seed, "a pair shares its seed");
    const double value = *pair.candidate.bits_per_byte() - *pair.incumbent.bits_per_byte();
    ++all.count;
    const double step = value - all.mean;
    all.mean += step / static_cast<double>(all.count);
    all.squares += step * (value - all.mean);
  }
  return all;
}

/// The incumbent's mean over the pairs less that over its further runs: what the second knows
/// better.
double incumbent_excess(const Evidence& evidence) {
  double paired = 0, further = 0;
  for (const Pair& pair : evidence.pairs) paired += *pair.incumbent.bits_per_byte();
  for (const study::RunRecord& record : evidence.more_incumbents) {
    require_comparable(evidence.pairs.front().incumbent, record);
    base::check(record.completed(), "only completed runs are compared");
    further += *record.bits_per_byte();
  }
  return paired / static_cast<double>(evidence.pairs.size()) -
         further / static_cast<double>(evidence.more_incumbents.size());
}

Noise::Variance pooled_with_own(const Noise& noise, const Differences& own) {
  const Noise::Variance before = noise.pair_variance();
  const int64_t degrees = before.degrees + own.count - 1;
  if (degrees == 0) return {};
  const double squares = before.value * static_cast<double>(before.degrees) + own.squares;
  return {squares / static_cast<double>(degrees), degrees};
}

double critical_t(double level, int64_t degrees) {
  const boost::math::students_t distribution(static_cast<double>(degrees));
  return boost::math::quantile(complement(distribution, level));
}

double normal_below(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

template <class Figure>
double mean_over(const std::vector<Pair>& pairs, const Figure& figure) {
  double sum = 0;
  for (const Pair& pair : pairs) sum += figure(pair);
  return sum / static_cast<double>(pairs.size());
}

std::string router_figures(const std::vector<Pair>& pairs) {
  bool any = false;
  study::LayerHealth worst{.position = 0, .load_entropy = 1, .load_cv = 0, .max_load = 0};
  for (const Pair& pair : pairs) {
    for (const study::LayerHealth& layer : pair.candidate.evaluation->router_health) {
      any = true;
      worst.load_entropy = std::min(worst.load_entropy, layer.load_entropy);
      worst.load_cv = std::max(worst.load_cv, layer.load_cv);
      worst.max_load = std::max(worst.max_load, layer.max_load);
    }
  }
  if (!any) return "no routers";
  return fmt::format("worst router: load entropy {:.3f}, load cv {:.2f}, busiest expert {:.0f} %",
                     worst.load_entropy, worst.load_cv, 100 * worst.max_load);
}

}  // namespace

void require_comparable(const study::RunRecord& first, const study::RunRecord& second) {
  if (first.comparability_key == second.comparability_key) return;
  throw NotComparable(fmt::format(
      "run {} (key {}) cannot be compared with run {} (key {}): equal keys are needed, that is the "
      "same data, validation split, budget, device, precision, threads and code of the trainer",
      first.id, first.comparability_key, second.id, second.comparability_key));
}

std::optional<double> throughput_change(const std::vector<Pair>& pairs) {
  double candidate = 0;
  double incumbent = 0;
  for (const Pair& pair : pairs) {
    if (!pair.candidate.train.tokens_per_second || !pair.incumbent.train.tokens_per_second) {
      return std::nullopt;
    }
    candidate += *pair.candidate.train.tokens_per_second;
    incumbent += *pair.incumbent.train.tokens_per_second;
  }
  if (incumbent <= 0) return std::nullopt;
  return candidate / incumbent - 1;
}

std::string observed_figures(const std::vector<Pair>& pairs) {
  std::vector<std::string> parts;
  const auto have = [&](auto figure) {
    return std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
      return figure(pair.candidate).has_value() && figure(pair.incumbent).has_value();
    });
  };
  const auto compare = [&](const char* what, auto figure, auto print) {
    if (!have(figure)) return;
    const double candidate = mean_over(pairs, [&](const Pair& p) { return *figure(p.candidate); });
    const double incumbent = mean_over(pairs, [&](const Pair& p) { return *figure(p.incumbent); });
    parts.push_back(fmt::format("{} {} against {}", what, print(candidate), print(incumbent)));
  };
  const auto count = [](double value) { return base::format_count(value); };
  const auto loss = [](double value) { return fmt::format("{:.4f}", value); };
  using study::RunRecord;
  compare(
      "tokens/s", [](const RunRecord& r) { return r.train.tokens_per_second; }, count);
  compare(
      "training loss (nats/token)", [](const RunRecord& r) { return r.train.loss_nats_per_token; },
      loss);
  compare(
      "active parameters",
      [](const RunRecord& r) {
        return std::optional<double>(static_cast<double>(r.parameters_active));
      },
      count);
  parts.push_back(router_figures(pairs));
  return base::join(parts, "; ");
}

std::string agreement(const study::Prediction& prediction, double delta_bits_per_byte) {
  if (prediction.interval_low <= delta_bits_per_byte &&
      delta_bits_per_byte <= prediction.interval_high) {
    return "yes";
  }
  return (prediction.delta_bits_per_byte < 0) == (delta_bits_per_byte < 0) ? "partial" : "no";
}

Difference paired_difference(const std::vector<Pair>& pairs, const Noise& noise) {
  const Differences own = differences_of(pairs);
  const Noise::Variance variance = pooled_with_own(noise, own);
  base::check(variance.degrees > 0, "a difference needs a measured noise");
  const double se = std::sqrt(variance.value / static_cast<double>(own.count));
  const double reach = critical_t(kControlTail, variance.degrees) * se;
  return {.delta_bits_per_byte = own.mean,
          .interval_low = own.mean - reach,
          .interval_high = own.mean + reach,
          .standard_error = se,
          .degrees = variance.degrees};
}

double upper_end(const Difference& difference, double confidence) {
  return difference.delta_bits_per_byte +
         critical_t(1 - confidence, difference.degrees) * difference.standard_error;
}

SequentialTest plan_test(const DecisionRule& rule, int64_t slots, double share, double seed_share,
                         int64_t incumbent_runs) {
  SequentialTest test{.looks = {},
                      .levels = {},
                      .minimum_gain = rule.minimum_gain,
                      .seed_share = seed_share,
                      .incumbent_runs = incumbent_runs};
  const int64_t last = std::max(rule.min_pairs, rule.max_pairs);
  for (int64_t look = rule.min_pairs; look < last; look += std::max<int64_t>(1, slots)) {
    test.looks.push_back(look);
  }
  test.looks.push_back(last);
  std::vector<double> information;
  for (const int64_t look : test.looks) {
    information.push_back(1 / weighting(look, further_runs(test, look), seed_share).variance);
  }
  test.levels = nominal_levels(information, share);
  return test;
}

double next_share(const std::vector<study::Experiment>& history, const DecisionRule& rule,
                  int64_t planned_experiments) {
  double left = 1 - rule.confidence;
  int64_t planned = planned_experiments;
  for (const study::Experiment& experiment : history) {
    if (!experiment.decision || !study::may_be_kept(experiment.proposal.kind) ||
        experiment.decision->verdict == study::verdict::kVetoed) {
      continue;
    }
    const double share = left / static_cast<double>(std::max<int64_t>(1, planned--));
    const bool is_spent =
        experiment.decision->verdict == study::verdict::kDiscard || !experiment.doubt.empty();
    if (is_spent) left -= share;
  }
  return left / static_cast<double>(std::max<int64_t>(1, planned));
}

std::optional<study::Decision> judge(const Evidence& evidence, const Noise& noise,
                                     const SequentialTest& test,
                                     const study::Prediction& prediction) {
  for (const Pair& pair : evidence.pairs) require_comparable(pair.candidate, pair.incumbent);
  const Differences own = differences_of(evidence.pairs);
  const auto look = std::find(test.looks.begin(), test.looks.end(), own.count);
  base::check(look != test.looks.end(), "a decision is made at a planned look");
  const bool is_last = own.count == test.looks.back();
  const Noise::Variance variance = pooled_with_own(noise, own);
  base::check(variance.degrees > 0, "a decision needs a measured noise");

  const int64_t further = further_runs(test, own.count);
  base::check(further == std::ssize(evidence.more_incumbents),
              "the incumbent has the runs that the test was planned with");
  const Weighting now = weighting(own.count, further, test.seed_share);
  const double delta = own.mean + (further > 0 ? now.weight * incumbent_excess(evidence) : 0.0);
  const double sd = std::sqrt(variance.value);
  const double level = test.levels[static_cast<size_t>(look - test.looks.begin())];
  const double reach = critical_t(level, variance.degrees) * sd * std::sqrt(now.variance);

  study::Decision decision;
  decision.delta_bits_per_byte = delta;
  decision.interval_low = delta - reach;
  decision.interval_high = delta + reach;
  decision.standard_error_bits_per_byte = sd * std::sqrt(now.variance);
  decision.pairs = own.count;
  for (const Pair& pair : evidence.pairs) decision.seeds.push_back(pair.candidate.seed);
  decision.noise_bits_per_byte = sd / std::sqrt(2.0);
  decision.prediction_covered =
      prediction.interval_low <= delta && delta <= prediction.interval_high;
  decision.agreement = agreement(prediction, delta);
  decision.throughput_change = throughput_change(evidence.pairs);
  decision.observed = observed_figures(evidence.pairs);
  const std::string measured = fmt::format(
      "{:+.4f} bits per byte [{:+.4f}, {:+.4f}] over {} pairs{}, sd of a pair {:.4f} with {} "
      "degrees of freedom",
      delta, delta - reach, delta + reach, own.count,
      further > 0 ? fmt::format(" and {} further runs of the incumbent", further) : "", sd,
      variance.degrees);

  if (delta + reach < -test.minimum_gain) {
    decision.verdict = study::verdict::kKeep;
    decision.reason = measured + fmt::format(": the whole interval is below {:.4f}",
                                             test.minimum_gain > 0 ? -test.minimum_gain : 0.0);
    decision.expected_delta_bits_per_byte = expected_difference(decision);
    return decision;
  }
  decision.verdict = study::verdict::kDiscard;
  if (is_last) {
    decision.reason = measured + fmt::format(": the interval reaches above {:.4f}",
                                             test.minimum_gain > 0 ? -test.minimum_gain : 0.0);
    return decision;
  }
  const int64_t final_pairs = test.looks.back();
  const double final_variance =
      weighting(final_pairs, further_runs(test, final_pairs), test.seed_share).variance;
  const int64_t final_degrees = variance.degrees + final_pairs - own.count;
  const double final_reach =
      critical_t(test.levels.back(), final_degrees) * sd * std::sqrt(final_variance);
  const double still_open = sd * std::sqrt(now.variance - final_variance);
  const double distance = -test.minimum_gain - final_reach - delta;
  const double chance = still_open > 0 ? normal_below(distance / still_open) : 0.0;
  if (chance >= kFutility) return std::nullopt;
  decision.reason = measured + fmt::format(": the chance of a keep within {} pairs is {:.1f} %",
                                           test.looks.back(), 100 * chance);
  return decision;
}

study::Decision without_comparison(const char* verdict, const std::string& reason) {
  study::Decision decision;
  decision.verdict = verdict;
  decision.reason = reason;
  return decision;
}

std::optional<double> expected_difference(const study::Decision& decision) {
  if (decision.verdict != study::verdict::kKeep || !decision.delta_bits_per_byte ||
      !decision.interval_high || !decision.standard_error_bits_per_byte) {
    return std::nullopt;
  }
  const double se = *decision.standard_error_bits_per_byte;
  if (se <= 0) return decision.delta_bits_per_byte;
  const double z = -*decision.delta_bits_per_byte / se;
  const double threshold = (*decision.interval_high - *decision.delta_bits_per_byte) / se;
  const auto expected_z = [&](double m) {
    const double gap = threshold - m;
    return m + std::exp(-0.5 * gap * gap) / std::sqrt(2 * M_PI) / normal_below(-gap);
  };
  // expected_z rises with m.
  double low = 0;
  double high = z;
  for (int round = 0; round < 60; ++round) {
    const double middle = 0.5 * (low + high);
    (expected_z(middle) < z ? low : high) = middle;
  }
  return -se * (z + high) / 2;
}

}  // namespace windtunnel::agent

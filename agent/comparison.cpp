#include "agent/comparison.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

#include "agent/decision.h"
#include "agent/facts.h"
#include "agent/night_state.h"
#include "base/error.h"

namespace windtunnel::agent {

namespace {

using study::RunRecord;

/// Completed runs of a configuration by seed; control arms left out.
std::map<int64_t, RunRecord> runs_by_seed(const study::Journal& journal, int64_t experiment) {
  if (experiment != 0 && !journal.experiment(experiment)) {
    throw base::Error("the study has no experiment " + std::to_string(experiment));
  }
  std::map<int64_t, RunRecord> runs;
  for (const study::JournalRun& run : journal.runs_of(experiment)) {
    if (run.record && run.record->completed() && !run.is_reference()) {
      runs[run.seed] = *run.record;
    }
  }
  if (runs.empty()) {
    throw base::Error((experiment == 0 ? std::string("the baseline")
                                       : "experiment " + std::to_string(experiment)) +
                      " has no completed run to compare");
  }
  return runs;
}

Noise noise_of(const study::Journal& journal, const std::string& key) {
  std::vector<RunRecord> records;
  for (const study::JournalRun& run : journal.runs()) {
    if (run.experiment && run.record) records.push_back(*run.record);
  }
  return measure_noise(records, key);
}

double mean(const std::map<int64_t, RunRecord>& runs) {
  double sum = 0;
  for (const auto& [seed, record] : runs) sum += *record.bits_per_byte();
  return sum / static_cast<double>(runs.size());
}

bool chosen_by(const study::Journal& journal, int64_t experiment, int64_t seed) {
  const auto found = journal.experiment(experiment);
  if (!found || !found->decision || found->decision->verdict != study::verdict::kKeep) return false;
  const auto& seeds = found->decision->seeds;
  return std::find(seeds.begin(), seeds.end(), seed) != seeds.end();
}

}  // namespace

Comparison compare(const study::Journal& journal, int64_t first, int64_t second) {
  const auto runs = runs_by_seed(journal, first);
  const auto others = runs_by_seed(journal, second);
  for (const auto& [seed, record] : runs) require_comparable(record, others.begin()->second);
  for (const auto& [seed, record] : others) require_comparable(runs.begin()->second, record);
  Comparison result{.first = first,
                    .second = second,
                    .comparability_key = runs.begin()->second.comparability_key};
  const Noise noise = noise_of(journal, result.comparability_key);
  std::vector<Pair> pairs;
  for (const auto& [seed, record] : runs) {
    const auto other = others.find(seed);
    if (other == others.end()) continue;
    pairs.push_back({.candidate = record, .incumbent = other->second});
    result.pairs.push_back(
        {.seed = seed, .first = *record.bits_per_byte(), .second = *other->second.bits_per_byte()});
    result.is_selected =
        result.is_selected || chosen_by(journal, first, seed) || chosen_by(journal, second, seed);
  }
  double error = 0;
  if (!pairs.empty()) {
    const Difference difference = paired_difference(pairs, noise);
    result.delta_bits_per_byte = difference.delta_bits_per_byte;
    result.degrees = difference.degrees;
    error = difference.standard_error;
  } else {
    if (!noise.run_sd) {
      throw base::Error(
          "they share no seed, and the noise of one run is not known: more than one "
          "run of a configuration is needed");
    }
    result.is_paired = false;
    result.delta_bits_per_byte = mean(runs) - mean(others);
    result.degrees = noise.run_degrees;
    error = *noise.run_sd * std::sqrt(1 / static_cast<double>(runs.size()) +
                                      1 / static_cast<double>(others.size()));
  }
  const boost::math::students_t distribution(static_cast<double>(result.degrees));
  const double reach_80 = boost::math::quantile(distribution, 0.9) * error;
  const double reach_95 = boost::math::quantile(distribution, 0.975) * error;
  result.interval_low_80 = result.delta_bits_per_byte - reach_80;
  result.interval_high_80 = result.delta_bits_per_byte + reach_80;
  result.interval_low_95 = result.delta_bits_per_byte - reach_95;
  result.interval_high_95 = result.delta_bits_per_byte + reach_95;
  result.p_value =
      error > 0 ? boost::math::cdf(distribution, -std::abs(result.delta_bits_per_byte) / error) : 0;
  return result;
}

std::optional<double> night_gain(const study::Journal& journal) {
  const auto program = journal.fact(fact::kProgram);
  const auto baseline = journal.fact(fact::kBaseline);
  if (!program || !baseline) return std::nullopt;
  const Program rules = stored_program(*program, {});
  const NightState state(rules, journal, baseline->at("config"));
  if (state.incumbent() == 0) return 0;
  const auto before = state.measured_mean(0);
  const auto after = state.measured_mean(state.incumbent());
  if (!before || !after) return std::nullopt;
  return *before - *after;
}

}  // namespace windtunnel::agent

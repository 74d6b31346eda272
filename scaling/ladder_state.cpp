#include "scaling/ladder_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "base/fingerprint.h"
#include "base/text.h"
#include "scaling/rate_search.h"

namespace windtunnel::scaling {
namespace {

constexpr const char* kPending = "pending";

double four_digits(double value) {
  return std::strtod(base::format_number(value, 4).c_str(), nullptr);
}

/// A size of a curve whose optimum others wait for.
struct TunedSize {
  double parameters = 0;
  bool settled = false;
  std::optional<double> optimum;
};

class StateOfLadder {
 public:
  StateOfLadder(const LadderPlan& plan, const RecordOf& record_of)
      : plan_(plan), record_of_(record_of), data_(plan.data_fingerprint) {}

  LadderState compute() {
    // Curve by curve and from small to large, so that every rung finds what it waits for.
    for (const PlannedRung& rung : plan_.rungs) add(rung);
    std::stable_sort(state_.runs.begin(), state_.runs.end(),
                     [](const auto& a, const auto& b) { return a.flops_exact > b.flops_exact; });
    return std::move(state_);
  }

 private:
  void add(const PlannedRung& rung) {
    RungOutcome outcome{.name = rung.name,
                        .size = rung.size,
                        .curve = rung.curve,
                        .base_rung = rung.base_rung,
                        .held_out = rung.held_out,
                        .epochs = rung.epochs};
    if (rung.rate_status == rate_status::kTuned) {
      tune(rung, outcome);
    } else {
      take_rate(rung, outcome);
    }
    state_.rungs.push_back(std::move(outcome));
  }

  void take_rate(const PlannedRung& rung, RungOutcome& outcome) {
    if (rung.rate_status == rate_status::kGiven) {
      outcome.rate_note = "set by the rung or variant";
      follow(rung, rung.learning_rate, std::nullopt, rung.rate_status, outcome);
      return;
    }
    const std::optional<RateRule> rule = rule_for(rung);
    if (!rule) return wait(outcome);
    if (optima_below(rung).empty()) {
      outcome.rate_note = fmt::format("the base's {} * (N / N of base)^{}",
                                      base::format_number(plan_.base_learning_rate, 4),
                                      base::format_number(plan_.ladder.learning_rate_exponent));
      follow(rung, rung.learning_rate, std::nullopt, rung.rate_status, outcome);
      return;
    }
    const auto active = static_cast<double>(rung.parameters_active);
    const double rate = std::min(four_digits(rule->rate(active)), kLargestRate);
    outcome.rate_note = note_of(*rule, rung);
    follow(rung, rate, rate, rung.rate_status, outcome);
  }

  void tune(const PlannedRung& rung, RungOutcome& outcome) {
    TunedSize size{.parameters = static_cast<double>(rung.parameters_active)};
    const std::optional<RateRule> rule = rule_for(rung);
    if (!rule) {
      wait(outcome);
    } else {
      const RateChoice choice = try_rates(rung, rule->rate(size.parameters), outcome);
      outcome.rate_note = choice.note;
      size.settled = choice.settled;
      if (choice.settled && choice.best) {
        size.optimum = choice.optimum;
        outcome.optimal_learning_rate = choice.optimum;
        const double rate = outcome.tried[*choice.best].learning_rate;
        follow(rung, rate, rate, choice.status, outcome);
      } else {
        outcome.state = choice.settled ? "failed" : "running";
      }
    }
    tuned_[rung.curve].push_back(size);
  }

  /// Asks for the grid around `wanted` and for what extends it.
  RateChoice try_rates(const PlannedRung& rung, double wanted, RungOutcome& outcome) {
    const RateGridConfig& grid = plan_.ladder.learning_rates;
    std::vector<double> rates = rate_grid(plan_.base_learning_rate, wanted, grid);
    std::string note;
    for (;;) {
      std::vector<RateTrial> trials;
      outcome.tried.clear();
      for (const double rate : rates) {
        const std::string id = ladder_run_id(rung.name, kFirstSeed, rate);
        outcome.tried.push_back({.learning_rate = rate, .run = id, .outcome = kPending});
        trials.push_back(trial_of(ask(rung, id, rate, kFirstSeed), outcome.tried.back()));
      }
      RateChoice choice = choose_rate(trials, plan_.base_learning_rate, grid);
      if (!choice.next) {
        // While the extension runs, the note says why it does.
        if (!choice.settled) choice.note = note;
        return choice;
      }
      note = choice.note;
      rates.push_back(*choice.next);
      std::sort(rates.begin(), rates.end());
    }
  }

  static RateTrial trial_of(const std::optional<study::RunRecord>& record, TriedRate& tried) {
    RateTrial trial{.rate = tried.learning_rate};
    if (!record) return trial;
    tried.outcome = record->train.outcome;
    tried.bits_per_byte = record->bits_per_byte();
    if (tried.bits_per_byte && std::isfinite(*tried.bits_per_byte) && *tried.bits_per_byte > 0) {
      trial.state = RateTrial::State::kMeasured;
      trial.loss = *tried.bits_per_byte;
    } else {
      trial.state = tried.outcome == study::outcome::kDiverged ? RateTrial::State::kDiverged
                                                               : RateTrial::State::kUnusable;
    }
    return trial;
  }

  /// The runs at the rung's rate, one a seed, and what they came to.
  void follow(const PlannedRung& rung, double rate, const std::optional<double>& rate_in_id,
              const std::string& status, RungOutcome& outcome) {
    outcome.learning_rate = rate;
    outcome.rate_status = status;
    double sum = 0;
    double epochs = 0;
    int64_t completed = 0;
    int64_t with_epochs = 0;
    bool pending = false;
    for (int64_t seed = kFirstSeed; seed < kFirstSeed + plan_.ladder.seeds; ++seed) {
      const std::string id = ladder_run_id(rung.name, seed, rate_in_id);
      outcome.runs.push_back(id);
      const auto record = ask(rung, id, rate, seed);
      pending |= !record;
      if (!record) continue;
      if (const auto bits = record->bits_per_byte()) {
        sum += *bits;
        ++completed;
      }
      if (record->train.epochs) {
        epochs += *record->train.epochs;
        ++with_epochs;
      }
    }
    if (completed > 0) outcome.bits_per_byte = sum / static_cast<double>(completed);
    if (with_epochs > 0) outcome.epochs = epochs / static_cast<double>(with_epochs);
    outcome.state = pending ? "running" : completed > 0 ? "done" : "failed";
  }

  /// Puts a run on the list, once, and returns its record if it has one.
  std::optional<study::RunRecord> ask(const PlannedRung& rung, const std::string& id, double rate,
                                      int64_t seed) {
    const auto found = record_of_(id);
    if (asked_.insert(id).second) {
      auto config = base::from_trusted_json<study::RunConfig>(rung.config);
      config.train.optimizer.learning_rate = rate;
      config.train.seed = seed;
      state_.runs.push_back(
          {.id = id, .rung = rung.name, .config = config, .flops_exact = rung.flops_exact});
      if (found) require_same_data(*found);
    }
    return found;
  }

  void require_same_data(const study::RunRecord& record) {
    if (data_.empty()) data_ = record.data_fingerprint;
    require_manifest(data_, record);
  }

  std::vector<SizeAndRate> optima_below(const PlannedRung& rung) const {
    std::vector<SizeAndRate> optima;
    const auto found = tuned_.find(rung.curve);
    if (found == tuned_.end()) return optima;
    for (const TunedSize& size : found->second) {
      if (size.parameters < static_cast<double>(rung.parameters_active) && size.optimum) {
        optima.push_back({.parameters = size.parameters, .rate = *size.optimum});
      }
    }
    return optima;
  }

  /// Nullopt while a smaller size of the curve is being tuned.
  std::optional<RateRule> rule_for(const PlannedRung& rung) const {
    const auto found = tuned_.find(rung.curve);
    if (found != tuned_.end()) {
      for (const TunedSize& size : found->second) {
        const bool is_smaller = size.parameters < static_cast<double>(rung.parameters_active);
        if (is_smaller && !size.settled) return std::nullopt;
      }
    }
    return RateRule({.parameters = static_cast<double>(plan_.base_parameters),
                     .rate = plan_.base_learning_rate},
                    optima_below(rung), plan_.ladder.learning_rate_exponent,
                    plan_.ladder.learning_rates);
  }

  std::string note_of(const RateRule& rule, const PlannedRung& rung) const {
    return fmt::format("from {} smaller sizes: N^{:.2f}, within a factor of {:.2f}",
                       optima_below(rung).size(), rule.exponent(),
                       std::exp(rule.log_sd(static_cast<double>(rung.parameters_active))));
  }

  static void wait(RungOutcome& outcome) {
    outcome.state = "waiting";
    outcome.rate_note = "waits for the rates of smaller sizes";
  }

  static constexpr int64_t kFirstSeed = 1;

  const LadderPlan& plan_;
  const RecordOf& record_of_;
  std::string data_;
  std::set<std::string> asked_;
  std::map<std::string, std::vector<TunedSize>> tuned_;
  LadderState state_;
};

std::map<std::string, const RungOutcome*> by_name(const LadderState& state) {
  std::map<std::string, const RungOutcome*> rungs;
  for (const RungOutcome& rung : state.rungs) rungs[rung.name] = &rung;
  return rungs;
}

std::optional<double> bits_of(const std::optional<study::RunRecord>& record) {
  return record ? record->bits_per_byte() : std::nullopt;
}

}  // namespace

bool LadderState::complete() const {
  return std::all_of(rungs.begin(), rungs.end(), [](const RungOutcome& rung) {
    return rung.state == "done" || rung.state == "failed";
  });
}

LadderState ladder_state(const LadderPlan& plan, const RecordOf& record_of) {
  return StateOfLadder(plan, record_of).compute();
}

void require_manifest(const std::string& data_fingerprint, const study::RunRecord& record) {
  if (record.data_fingerprint == data_fingerprint) return;
  throw base::Error(fmt::format(
      "run {} read the corpus manifest {}, but this ladder is on {}; a ladder has one manifest: "
      "put that corpus back, or start over with --fresh",
      record.id, base::short_fingerprint(record.data_fingerprint),
      base::short_fingerprint(data_fingerprint)));
}

RecordOf records_in(const study::Journal& journal) {
  return [&journal](const std::string& id) {
    const auto run = journal.run(id);
    return run ? run->record : std::nullopt;
  };
}

std::string ladder_run_id(const std::string& rung, int64_t seed,
                          const std::optional<double>& rate) {
  return "ladder-" + rung + (rate ? "-lr" + base::format_number(*rate, 4) : "") + "-s" +
         std::to_string(seed);
}

std::vector<PairedDifference> paired_differences(const LadderState& state,
                                                 const RecordOf& record_of) {
  const auto rungs = by_name(state);
  std::vector<PairedDifference> pairs;
  for (const RungOutcome& rung : state.rungs) {
    if (rung.base_rung.empty()) continue;
    const RungOutcome& base = *rungs.at(rung.base_rung);
    PairedDifference pair{.rung = rung.name, .curve = rung.curve, .base_rung = base.name};
    std::vector<double> differences;
    double base_sum = 0;
    for (size_t seed = 0; seed < std::min(rung.runs.size(), base.runs.size()); ++seed) {
      const auto of_variant = bits_of(record_of(rung.runs[seed]));
      const auto of_base = bits_of(record_of(base.runs[seed]));
      if (!of_variant || !of_base) continue;
      differences.push_back(*of_variant - *of_base);
      base_sum += *of_base;
    }
    if (differences.empty()) continue;
    const auto count = static_cast<double>(differences.size());
    pair.pairs = static_cast<int64_t>(differences.size());
    for (const double difference : differences) pair.difference += difference / count;
    pair.relative = pair.difference / (base_sum / count);
    if (differences.size() > 1) {
      double squares = 0;
      for (const double difference : differences) {
        squares += (difference - pair.difference) * (difference - pair.difference);
      }
      pair.standard_deviation = std::sqrt(squares / (count - 1));
    }
    pairs.push_back(pair);
  }
  return pairs;
}

LadderCount count_runs(const LadderPlan& plan, const LadderState& state,
                       const RecordOf& record_of) {
  LadderCount count;
  std::map<std::string, int64_t> known;
  for (const LadderRun& run : state.runs) {
    ++known[run.rung];
    if (!record_of(run.id)) continue;
    ++count.ended;
    count.flops_ended += run.flops_exact;
  }
  for (const PlannedRung& rung : plan.rungs) {
    const int64_t runs = std::max(known[rung.name], rung.runs);
    count.all += runs;
    count.flops_all += static_cast<double>(runs) * rung.flops_exact;
  }
  return count;
}

}  // namespace windtunnel::scaling

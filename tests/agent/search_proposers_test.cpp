// Local search and best-of-N on a surface that is known: a bowl over two numeric paths, measured
// with noise.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "agent/proposer.h"
#include "tests/agent/small_program.h"

namespace windtunnel::agent {
namespace {

using base::Json;
using study::Experiment;
using study::Proposal;
using testing::baseline_of;
using testing::decided;
using ::testing::HasSubstr;
using testing::small_program;

constexpr const char* kRate = "train.optimizer.learning_rate";
constexpr const char* kDecay = "train.optimizer.weight_decay";
constexpr const char* kHeads = "train.objectives.multi_token.heads";

Program bowl_program() {
  return small_program(
      {{"base:",
        "base: {train: {tokens_per_step: 256, optimizer: {learning_rate: 0.01, weight_decay: "
        "0.3}}, model: {pattern: '*D*E', width: 16, context_tokens: 32, vocabulary_size: 300}}"},
       {"  - {path: model.layers.E.num_experts",
        "  - {path: train.optimizer.weight_decay, minimum: 0, maximum: 0.4}"},
       {"  - {path: model.pattern", "  - {path: model.pattern, choices: ['*D*E', '*E*E']}"}});
}

double rate_of(const Json& config) { return base::find_path(config, kRate)->get<double>(); }
double decay_of(const Json& config) { return base::find_path(config, kDecay)->get<double>(); }

/// Bits per byte above the best, which is at a rate of 0.04 and a decay of 0.1.
double bowl(const Json& config) {
  const double rate = std::log(rate_of(config) / 0.04) / std::log(0.1 / 0.005);
  const double decay = (decay_of(config) - 0.1) / 0.4;
  return 0.5 * (rate * rate + decay * decay);
}

/// A night in which a change that seems to gain is kept.
class Night {
 public:
  Night(const std::string& kind, double noise, int64_t seed, const Json& options = Json::object())
      : proposer_(make(kind, options)), kind_(kind), noise_(noise), random_(seed, "noise") {
    program.night.seed = seed;
  }

  std::optional<Proposal> propose() const {
    return proposer_->propose({program, incumbent, history, noise_, 3.0, {}});
  }
  /// Measures it; `by` is who proposed it.
  void measure(const Json& patch, const std::string& by) {
    Experiment& experiment = add(patch, by);
    const double delta = bowl(experiment.config) - bowl(incumbent) + noise_ * random_.normal();
    decide(experiment, delta, delta < -noise_);
  }
  void record(const Json& patch, const std::string& by, double delta, bool is_kept) {
    decide(add(patch, by), delta, is_kept);
  }
  /// False where there is no proposal.
  bool step() {
    const auto proposal = propose();
    if (proposal) measure(proposal->patch, kind_);
    return proposal.has_value();
  }

  Program program = bowl_program();
  Json incumbent = baseline_of(program);
  std::vector<Experiment> history;
  /// Number of the incumbent.
  int64_t parent = 0;

 private:
  Experiment& add(const Json& patch, const std::string& by) {
    history.push_back(
        decided(static_cast<int64_t>(history.size()) + 1, program, incumbent, patch, 0, by));
    history.back().parent = parent;
    return history.back();
  }
  void decide(Experiment& experiment, double delta, bool is_kept) {
    experiment.decision->delta_bits_per_byte = delta;
    if (!is_kept) return;
    experiment.decision->verdict = study::verdict::kKeep;
    parent = experiment.number;
    incumbent = experiment.config;
  }

  static std::unique_ptr<Proposer> make(const std::string& kind, const Json& options) {
    return ProposerKinds::instance().get(kind, "proposer").entry.make(options, {});
  }

  std::unique_ptr<Proposer> proposer_;
  std::string kind_;
  double noise_;
  base::RandomStream random_;
};

double end_of_night(const std::string& kind, double noise, int64_t seed, int experiments) {
  Night night(kind, noise, seed);
  for (int i = 0; i < experiments; ++i) night.step();
  return bowl(night.incumbent);
}

// --- Local search --------------------------------------------------------------------------------

// The bowl is 0.22 deep at the baseline.
TEST(LocalSearch, FindsTheBottomOfABowlIn30Experiments) {
  EXPECT_GT(bowl(Night("local_search", 0, 1).incumbent), 0.2);
  EXPECT_LT(end_of_night("local_search", 0, 1, 30), 0.002);
}

TEST(LocalSearch, WithNoiseItStillEndsNearerThanRandomOnTheSameBudget) {
  constexpr int kNights = 6, kExperiments = 18;
  constexpr double kNoise = 0.01;
  double local = 0, random = 0;
  int wins = 0;
  for (int64_t seed = 1; seed <= kNights; ++seed) {
    const double ours = end_of_night("local_search", kNoise, seed, kExperiments);
    const double theirs = end_of_night("random", kNoise, seed, kExperiments);
    wins += ours < theirs ? 1 : 0;
    local += ours / kNights;
    random += theirs / kNights;
  }
  RecordProperty("local_search", std::to_string(local));
  RecordProperty("random", std::to_string(random));
  EXPECT_LT(local, 2 * kNoise);
  EXPECT_LT(local, random);
  EXPECT_GE(wins, kNights * 2 / 3);
}

TEST(LocalSearch, SetsNumbersOnlyAndLeavesChoicesAlone) {
  Night night("local_search", 0.01, 1);
  for (int i = 0; i < 10 && night.step(); ++i) {
    EXPECT_FALSE(night.history.back().proposal.patch.contains("model.pattern"));
  }
  EXPECT_GE(night.history.size(), 5u);
}

TEST(LocalSearch, AChangeOfTheIncumbentAlongItsPathsContinuesTheSearch) {
  Night night("local_search", 0, 1);
  while (night.parent == 0) ASSERT_TRUE(night.step());
  const auto proposal = night.propose();
  ASSERT_TRUE(proposal);
  EXPECT_THAT(proposal->hypothesis,
              HasSubstr("Point " + std::to_string(night.history.size() + 2) +
                        " of a subplex search over 2 numeric paths from the baseline."));
}

TEST(LocalSearch, AnotherSurfaceIsSearchedAnew) {
  Night night("local_search", 0, 1);
  night.step();
  night.record({{"model.pattern", "*E*E"}}, "random", -0.1, true);
  const auto proposal = night.propose();
  ASSERT_TRUE(proposal);
  EXPECT_THAT(proposal->hypothesis, HasSubstr("Point 2 of a subplex search over 2 numeric paths "
                                              "from experiment 2."));
}

TEST(LocalSearch, PointsThatOthersMeasuredAreNotProposedAgain) {
  Night night("local_search", 0, 1);
  const auto first = night.propose();
  ASSERT_TRUE(first);
  night.measure(first->patch, "random");
  const auto second = night.propose();
  ASSERT_TRUE(second);
  EXPECT_NE(second->patch, first->patch);
}

TEST(LocalSearch, FailuresAndVetoesAreLeftBehind) {
  Night night("local_search", 0, 1);
  std::set<std::string> tried;
  for (int i = 0; i < 12; ++i) {
    const auto proposal = night.propose();
    ASSERT_TRUE(proposal);
    night.measure(proposal->patch, "local_search");
    Experiment& last = night.history.back();
    EXPECT_TRUE(tried.insert(last.config_fingerprint).second) << proposal->patch;
    if (last.is_kept() || i % 2 == 0) continue;
    last.decision->delta_bits_per_byte.reset();
    last.decision->verdict = i % 4 == 1 ? study::verdict::kVetoed : study::verdict::kFailed;
  }
}

// Where everything is refused the search gives up instead of asking for ever.
TEST(LocalSearch, WhatAVetoWouldRefuseIsNeverProposed) {
  Night night("local_search", 0, 1);
  night.program.guardrails.max_parameters_total = 1;
  EXPECT_FALSE(night.propose());
}

TEST(LocalSearch, AnUndecidedPointDoesNotHoldTheSearchUp) {
  Night night("local_search", 0, 1);
  const auto first = night.propose();
  ASSERT_TRUE(first);
  night.measure(first->patch, "local_search");
  night.history.back().decision.reset();
  const auto second = night.propose();
  ASSERT_TRUE(second);
  EXPECT_NE(second->patch, first->patch);
}

TEST(LocalSearch, EndsWhenItsSimplexIsSmallerThanTheTolerance) {
  Night night("local_search", 0, 1, {{"step", 0.25}, {"tolerance", 0.1}});
  int steps = 0;
  while (steps < 100 && night.step()) ++steps;
  EXPECT_LT(steps, 40);
  EXPECT_GT(steps, 4);
}

TEST(LocalSearch, WholePathsGetWholeValues) {
  Night night("local_search", 0, 1);
  night.program.mutable_paths = {{.path = kHeads, .minimum = 0, .maximum = 4}};
  std::set<int64_t> values;
  for (int i = 0; i < 4; ++i) {
    const auto proposal = night.propose();
    if (!proposal) break;
    ASSERT_TRUE(proposal->patch.at(kHeads).is_number_integer()) << proposal->patch;
    values.insert(proposal->patch.at(kHeads).get<int64_t>());
    night.record(proposal->patch, "local_search", -0.1, true);
  }
  EXPECT_GE(values.size(), 2u);
}

TEST(LocalSearch, HasNothingToSayWithoutNumericPaths) {
  Night night("local_search", 0, 1);
  night.program.mutable_paths.erase(night.program.mutable_paths.begin(),
                                    night.program.mutable_paths.begin() + 2);
  EXPECT_FALSE(night.propose());
}

// --- Best of N -----------------------------------------------------------------------------------

/// Configurations that `count` turns try, with results drawn from `seed`.
std::vector<Json> tried(int64_t seed, int count) {
  Night night("best_of_n", 0.3, 1);
  base::RandomStream random(seed, "results");
  std::vector<Json> configs;
  for (int i = 0; i < count; ++i) {
    const auto proposal = night.propose();
    if (!proposal) break;
    configs.push_back(make_candidate(night.program, night.incumbent, proposal->patch).resolved);
    night.record(proposal->patch, "best_of_n", random.normal(), random.uniform() < 0.5);
  }
  return configs;
}

TEST(BestOfN, TriesTheSameConfigurationsWhateverTheResults) {
  const auto first = tried(1, 10);
  ASSERT_EQ(first.size(), 10u);
  EXPECT_EQ(first, tried(2, 10));
  EXPECT_EQ(first, tried(3, 10));
}

TEST(BestOfN, EveryDrawLiesOneOrTwoPathsFromTheBaseline) {
  const Json baseline = baseline_of(bowl_program());
  for (const Json& config : tried(4, 12)) {
    int changed = 0;
    for (const char* path : {kRate, kDecay, "model.pattern"}) {
      changed += *base::find_path(config, path) != *base::find_path(baseline, path) ? 1 : 0;
    }
    EXPECT_GE(changed, 1);
    EXPECT_LE(changed, 2);
  }
}

TEST(BestOfN, ItsPredictionsDoNotKnowTheRecordEither) {
  Night night("best_of_n", 0.1, 1);
  const auto first = night.propose();
  ASSERT_TRUE(first);
  for (int i = 0; i < 4; ++i) night.step();
  EXPECT_EQ(night.history.back().proposal.proposer, "best_of_n");
  const auto later = night.propose();
  ASSERT_TRUE(later);
  EXPECT_EQ(later->prediction.delta_bits_per_byte, 0);
}

TEST(BestOfN, HasNoMoreThanItsCount) {
  Night night("best_of_n", 0.1, 1, {{"count", 3}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(night.step());
  EXPECT_FALSE(night.propose());
}

TEST(BestOfN, SeedsOfTheNightGiveOtherDraws) {
  EXPECT_NE(Night("best_of_n", 0, 1).propose()->patch, Night("best_of_n", 0, 2).propose()->patch);
}

}  // namespace
}  // namespace windtunnel::agent

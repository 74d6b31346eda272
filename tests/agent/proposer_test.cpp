// The contract of a proposer, over everything registered, and the order in which a lineup asks.

#include "agent/proposer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/forecast.h"
#include "agent/literature.h"
#include "agent/veto.h"
#include "tests/agent/scripted_server.h"
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

const char* kIdea =
    R"({hypothesis: h, diagnostic: d, patch: {train.optimizer.learning_rate: 0.05}, prediction: {interval_low: -1, interval_high: 1}})";

std::string good_answer() {
  return R"({"patch": {"train.optimizer.learning_rate": 0.033}, "hypothesis": "faster",
    "prediction": {"delta_bits_per_byte": -0.01, "interval_low": -0.04, "interval_high": 0.02,
    "probability_kept": 0.3}, "diagnostic": "gradient norm"})";
}

/// A long record of all kinds of outcomes.
std::vector<Experiment> long_history(const Program& program, const Json& baseline, int count) {
  base::RandomStream random(7, "history");
  std::vector<Experiment> history;
  for (int i = 0; i < count; ++i) {
    const Json patch = {{"train.optimizer.learning_rate", random.uniform(0.005, 0.1)}};
    history.push_back(decided(i + 1, program, baseline, patch, 0.02 * random.normal(), "random",
                              i % 7 == 0 ? study::verdict::kKeep : study::verdict::kDiscard));
    Experiment& last = history.back();
    if (i % 11 == 0) last.decision->delta_bits_per_byte.reset();
    if (i % 13 == 0) last.decision.reset();
  }
  return history;
}

class ProposerContract : public ::testing::TestWithParam<std::string> {
 protected:
  ProposerContract()
      : server_({testing::answer(good_answer())}),
        program_(small_program({{"queue:", std::string("queue: [") + kIdea + "]"}})),
        baseline_(baseline_of(program_)) {}

  std::unique_ptr<Proposer> make() const {
    const auto& kind = ProposerKinds::instance().get(GetParam(), "proposer");
    Json options = Json::object();
    if (GetParam() == "language_model") {
      options = {{"endpoint", server_.endpoint()}, {"model", "scripted"}};
    }
    ProposerServices services;
    services.fact = [this](const std::string&) {
      Literature literature;
      literature.queue = program_.queue;
      return base::to_json(literature);
    };
    return kind.entry.make(options, services);
  }

  std::optional<Proposal> propose(const std::vector<Experiment>& history, int64_t seed = 1) {
    program_.night.seed = seed;
    return make()->propose({program_, baseline_, history, 0.02, 3.0, {.experiments = 3}});
  }

  void expect_legal(const Proposal& proposal) {
    for (const base::Problem& problem : patch_problems(program_, proposal.patch)) {
      ADD_FAILURE() << problem.text();
    }
    EXPECT_TRUE(make_candidate(program_, baseline_, proposal.patch).config);
    EXPECT_FALSE(proposal.hypothesis.empty());
    EXPECT_FALSE(proposal.diagnostic.empty());
    EXPECT_LT(proposal.prediction.interval_low, proposal.prediction.interval_high);
    EXPECT_LE(proposal.prediction.interval_low, proposal.prediction.delta_bits_per_byte);
    EXPECT_GE(proposal.prediction.interval_high, proposal.prediction.delta_bits_per_byte);
  }

  testing::ScriptedServer server_;
  Program program_;
  Json baseline_;
};

TEST_P(ProposerContract, ProposesSomethingLegalWithNoHistory) {
  const auto proposal = propose({});
  ASSERT_TRUE(proposal);
  expect_legal(*proposal);
}

TEST_P(ProposerContract, SameSeedAndHistoryGiveTheSameProposal) {
  for (const int64_t seed : {1, 2, 3}) {
    const auto first = propose({}, seed);
    const auto second = propose({}, seed);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(base::to_json(*first), base::to_json(*second));
  }
}

TEST_P(ProposerContract, SurvivesALongHistory) {
  const auto history = long_history(program_, baseline_, 300);
  if (const auto proposal = propose(history)) expect_legal(*proposal);
}

TEST_P(ProposerContract, SurvivesHistoryWithoutConfigurations) {
  std::vector<Experiment> history = long_history(program_, baseline_, 3);
  for (Experiment& experiment : history) {
    experiment.config = nullptr;
    experiment.config_fingerprint.clear();
    experiment.decision = study::Decision{.verdict = study::verdict::kVetoed};
  }
  if (const auto proposal = propose(history)) expect_legal(*proposal);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, ProposerContract,
                         ::testing::ValuesIn(ProposerKinds::instance().names()),
                         [](const auto& kind) { return kind.param; });

TEST(Random, OnlyProposesWhatNoVetoRefuses) {
  const Program program = small_program();
  const Json baseline = baseline_of(program);
  std::vector<Experiment> history;
  const auto proposer =
      ProposerKinds::instance().get("random", "proposer").entry.make(Json::object(), {});
  for (int i = 0; i < 30; ++i) {
    const auto proposal = proposer->propose({program, baseline, history, 0.02, 3.0, {}});
    ASSERT_TRUE(proposal);
    const Candidate candidate = make_candidate(program, baseline, proposal->patch);
    EXPECT_EQ(text(refusals(BeforeRun{program, baseline, history, proposal->patch, candidate})),
              "");
    history.push_back(decided(i + 1, program, baseline, proposal->patch, 0.01, "random"));
  }
}

TEST(Random, HasNothingLeftWhenEveryChoiceWasTried) {
  Program program = small_program();
  program.mutable_paths.erase(program.mutable_paths.begin());
  program.mutable_paths.pop_back();
  const Json baseline = baseline_of(program);
  const auto history =
      std::vector{decided(1, program, baseline, {{"model.layers.E.num_experts", 4}}, 0, "random"),
                  decided(2, program, baseline, {{"model.layers.E.num_experts", 16}}, 0, "random")};
  const auto proposer =
      ProposerKinds::instance().get("random", "proposer").entry.make(Json::object(), {});
  EXPECT_FALSE(proposer->propose({program, baseline, history, 0.02, 3.0, {}}));
}

TEST(Random, SaysWhatEarlierChangesOfThePathDid) {
  Program program = small_program();
  program.mutable_paths.resize(1);
  const Json baseline = baseline_of(program);
  const auto history = std::vector{
      decided(1, program, baseline, {{"train.optimizer.learning_rate", 0.05}}, -0.04, "random")};
  const auto proposer =
      ProposerKinds::instance().get("random", "proposer").entry.make(Json::object(), {});
  const auto proposal = proposer->propose({program, baseline, history, 0.02, 3.0, {}});
  ASSERT_TRUE(proposal);
  EXPECT_THAT(proposal->hypothesis, HasSubstr("1 earlier change of train.optimizer.learning_rate "
                                              "moved it by -0.04 on average, 0 kept"));
  EXPECT_LT(proposal->prediction.delta_bits_per_byte, 0);
  EXPECT_GT(proposal->prediction.delta_bits_per_byte, -0.04);
}

TEST(Queue, IsTakenInOrderAndOnceEach) {
  const std::string second =
      "{hypothesis: h2, diagnostic: d, patch: {model.pattern: '*E*E'}, prediction: {interval_low: "
      "-1, interval_high: 1}}";
  const Program program =
      small_program({{"queue:", std::string("queue: [") + kIdea + ", " + second + "]"}});
  const Json baseline = baseline_of(program);
  const auto proposer =
      ProposerKinds::instance().get("queue", "proposer").entry.make(Json::object(), {});
  std::vector<Experiment> history;
  for (const char* hypothesis : {"h", "h2"}) {
    const auto proposal = proposer->propose({program, baseline, history, {}, {}, {}});
    ASSERT_TRUE(proposal);
    EXPECT_EQ(proposal->hypothesis, hypothesis);
    history.push_back(decided(static_cast<int64_t>(history.size()) + 1, program, baseline,
                              proposal->patch, 0.1, "queue"));
  }
  EXPECT_FALSE(proposer->propose({program, baseline, history, {}, {}, {}}));
}

TEST(Forecast, WithoutHistoryItIsAWideIntervalAroundZero) {
  const study::Prediction prediction = forecast({}, {"a"}, 0.02, {});
  EXPECT_EQ(prediction.delta_bits_per_byte, 0);
  EXPECT_DOUBLE_EQ(prediction.interval_high, -prediction.interval_low);
  EXPECT_GT(prediction.interval_high, 0.02);
  EXPECT_LT(*prediction.probability_kept, 0.5);
}

// Changes drawn from a normal effect, measured with noise: 80 % intervals must hold 80 %.
TEST(Forecast, IntervalsHoldTheShareTheyPromise) {
  base::RandomStream random(3, "coverage");
  const double noise = 0.02;
  const double effect_sd = 0.06;
  DecisionRule rule;
  int covered = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Experiment> history;
    for (int i = 0; i < 12; ++i) {
      Experiment experiment;
      experiment.proposal.patch = {{"path" + std::to_string(i), 1}};
      experiment.decision.emplace();
      experiment.decision->delta_bits_per_byte =
          effect_sd * random.normal() + noise * random.normal();
      history.push_back(experiment);
    }
    const study::Prediction prediction = forecast(history, {"new"}, noise, rule);
    const double outcome = effect_sd * random.normal() + noise * random.normal();
    covered += outcome > prediction.interval_low && outcome < prediction.interval_high ? 1 : 0;
  }
  // Three standard errors of a share of 0.8, and some for the estimated spread.
  EXPECT_NEAR(covered / static_cast<double>(kRounds), 0.8, 0.08);
}

TEST(Forecast, OneDivergedRunDoesNotBlowTheIntervalUp) {
  const Program program = small_program();
  const Json baseline = baseline_of(program);
  const auto history = std::vector{
      decided(1, program, baseline, {{"train.optimizer.learning_rate", 0.05}}, 1e6, "random")};
  EXPECT_LT(forecast(history, {"train.optimizer.learning_rate"}, 0.02, {}).interval_high, 2);
}

TEST(Lineup, UsesTheQueueUpFirstAndThenGoesByShares) {
  const Program program =
      small_program({{"proposers:", "proposers: [{kind: random}, {kind: queue}]"},
                     {"queue:", std::string("queue: [") + kIdea + "]"}});
  const Json baseline = baseline_of(program);
  ProposerLineup lineup(program, {});
  std::vector<Experiment> history;
  std::vector<std::string> who;
  for (int i = 0; i < 3; ++i) {
    const auto proposal = lineup.propose({program, baseline, history, 0.02, 3.0, {}});
    ASSERT_TRUE(proposal);
    who.push_back(proposal->proposer);
    history.push_back(decided(i + 1, program, baseline, proposal->patch, 0.1, proposal->proposer));
  }
  EXPECT_EQ(who, (std::vector<std::string>{"queue", "random", "random"}));
}

TEST(Lineup, SharesOfTheExperimentsAreKept) {
  testing::ScriptedServer server({[](const httplib::Request& request, httplib::Response& response) {
    // Each answer must be new: the rate follows the length of the question.
    const std::string rate = "0.0" + std::to_string(10000 + request.body.size() % 80000);
    std::string text = good_answer();
    text.replace(text.find("0.033"), 5, rate);
    testing::answer(text)(request, response);
  }});
  const std::string model = "kind: language_model, endpoint: '" + server.endpoint() + "', model: ";
  const Program program =
      small_program({{"proposers:", "proposers: [{kind: random, share: 1}, {share: 2, " + model +
                                        "large}, {share: 1, " + model + "small}]"}});
  const Json baseline = baseline_of(program);
  ProposerLineup lineup(program, {});
  std::vector<Experiment> history;
  std::map<std::string, int> counts;
  for (int i = 0; i < 8; ++i) {
    const auto proposal = lineup.propose({program, baseline, history, 0.02, 3.0, {}});
    ASSERT_TRUE(proposal);
    ++counts[proposal->author()];
    history.push_back(decided(i + 1, program, baseline, proposal->patch, 0.1, proposal->proposer));
    history.back().proposal.model = proposal->model;
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{
                        {"language_model large", 4}, {"language_model small", 2}, {"random", 2}}));
}

TEST(Lineup, AModelWithoutAnAddressIsOffAndSaidSo) {
  const Program program =
      small_program({{"proposers:",
                      "proposers: [{kind: language_model, model: m, endpoint_variable: "
                      "WINDTUNNEL_TEST_UNSET}]"}});
  const Json baseline = baseline_of(program);
  std::vector<std::string> events;
  ProposerLineup lineup(program,
                        {.add_event = [&](const std::string& kind, const std::string& words) {
                          events.push_back(kind + ": " + words);
                        }});
  const auto proposal = lineup.propose({program, baseline, {}, 0.02, 3.0, {}});
  ASSERT_TRUE(proposal);
  EXPECT_EQ(proposal->proposer, "random");
  EXPECT_EQ(events, (std::vector<std::string>{
                        "language_model_off: the environment variable WINDTUNNEL_TEST_UNSET is not "
                        "set",
                        "fallback: language_model m has no proposal; random proposes instead"}));
}

}  // namespace
}  // namespace windtunnel::agent

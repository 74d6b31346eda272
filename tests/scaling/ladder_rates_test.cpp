// A ladder whose sizes each find their learning rate, run through the journal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "scaling/ladder_state.h"
#include "scaling/rate_search.h"
#include "tests/scaling/tuned_ladder.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::scaling {
namespace {

using base::Json;
using testing::Contains;
using testing::HasSubstr;
using tests::ScriptedRunner;

const char* const kFacts[] = {"ladder.rungs", "ladder.pairs", "ladder.forecast", "fit"};

/// One study in a folder of its own.
class Place {
 public:
  study::Journal journal() const { return study::Journal(folder_ / "journal.db"); }

  /// `kill_after` runs have ended when it is killed, before anything of the next is kept; -1:
  /// never.
  ScriptedRunner runner(int kill_after = -1) {
    return ScriptedRunner(
        folder_.path(), 2,
        [this, kill_after](const study::RunRequest& request, study::RunRecord& record) mutable {
          if (kill_after-- == 0) throw std::runtime_error("killed");
          end_run(request, record);
          if (change) change(request, record);
        });
  }

  void run(const LadderConfig& ladder, int kill_after = -1) {
    study::Journal store = journal();
    ScriptedRunner fake = runner(kill_after);
    run_ladder(plan_ladder(tuned_base(), ladder, {.slots = 2}), store, fake, folder_.path());
    started = fake.started;
  }

  LadderState state(const LadderConfig& ladder) const {
    const study::Journal store = journal();
    return ladder_state(plan_ladder(tuned_base(), ladder, {.slots = 2}), records_in(store));
  }

  std::map<std::string, Json> facts() const {
    study::Journal store = journal();
    fit_ladder(store);
    std::map<std::string, Json> facts;
    for (const char* name : kFacts) facts[name] = store.fact(name).value_or(nullptr);
    return facts;
  }

  ScriptedRunner::Script change;
  std::vector<std::string> started;

 private:
  tests::TemporaryFolder folder_;
};

RungOutcome rung(const LadderState& state, const std::string& name) {
  for (const RungOutcome& outcome : state.rungs) {
    if (outcome.name == name) return outcome;
  }
  throw std::logic_error("no rung " + name);
}

TEST(TunedLadder, EverySizeFindsItsRateOnTheSharedGrid) {
  Place place;
  place.run(tuned_ladder());
  const LadderState state = place.state(tuned_ladder());
  EXPECT_TRUE(state.complete());
  const LadderPlan plan = plan_ladder(tuned_base(), tuned_ladder());
  for (const PlannedRung& planned : plan.rungs) {
    const RungOutcome outcome = rung(state, planned.name);
    EXPECT_EQ(outcome.state, "done") << planned.name;
    const double best = best_rate(static_cast<double>(planned.parameters_active),
                                  static_cast<double>(plan.base_parameters));
    if (planned.held_out) {
      EXPECT_EQ(outcome.rate_status, rate_status::kExtrapolated);
      EXPECT_TRUE(outcome.tried.empty());
      // From the five below, on a law of which the prior exponent of -0.8 is wrong.
      EXPECT_NEAR(std::log(*outcome.learning_rate / best), 0, 0.25);
    } else {
      EXPECT_EQ(outcome.rate_status, rate_status::kTuned) << planned.name;
      EXPECT_GE(outcome.tried.size(), 3u);
      // The parabola is exact but for the noise.
      EXPECT_NEAR(std::log(*outcome.optimal_learning_rate / best), 0, 0.15) << planned.name;
      EXPECT_LE(std::abs(std::log(*outcome.learning_rate / best)), std::log(3) / 2 + 0.15);
      const double step = std::log(*outcome.learning_rate / 0.03) / std::log(3);
      EXPECT_NEAR(step, std::round(step), 1e-3) << planned.name;
    }
  }
}

TEST(TunedLadder, TheExtrapolatedRateIsThatOfAnIndependentLineThroughTheOptima) {
  Place place;
  place.run(tuned_ladder());
  const LadderState state = place.state(tuned_ladder());
  const LadderPlan plan = plan_ladder(tuned_base(), tuned_ladder());
  // Posterior of slope and intercept by a fine grid over the slope instead of a formula.
  const double noise = std::log(3) * std::log(3) / 12;
  std::vector<double> x, y;
  for (const PlannedRung& planned : plan.rungs) {
    if (planned.curve != "base" || planned.held_out) continue;
    x.push_back(std::log(static_cast<double>(planned.parameters_active)));
    y.push_back(std::log(*rung(state, planned.name).optimal_learning_rate));
  }
  const double target = std::log(static_cast<double>(plan.rungs[5].parameters_active));
  double best_objective = 1e300;
  double forecast = 0;
  for (int k = 0; k <= 400000; ++k) {
    const double slope = -2 + k * 1e-5;
    double offset = 0;
    for (size_t i = 0; i < x.size(); ++i) offset += (y[i] - slope * x[i]) / x.size();
    double objective = std::pow((slope + 0.8) / 0.5, 2);
    for (size_t i = 0; i < x.size(); ++i) {
      objective += std::pow(y[i] - offset - slope * x[i], 2) / noise;
    }
    if (objective >= best_objective) continue;
    best_objective = objective;
    forecast = offset + slope * target;
  }
  // The rate of a run has four digits.
  EXPECT_NEAR(std::log(*rung(state, "w96").learning_rate), forecast, 1e-3);
}

TEST(TunedLadder, ASizeWaitsForTheSmallerOnesOfItsCurve) {
  Place place;
  place.run(tuned_ladder());
  // Both curves begin with their smallest size, the larger model first.
  const std::set<std::string> first(place.started.begin(), place.started.begin() + 6);
  for (const char* size : {"w24", "w24-experts"}) {
    for (const char* rate : {"0.01", "0.03", "0.09"}) {
      EXPECT_TRUE(first.contains("ladder-" + std::string(size) + "-lr" + rate + "-s1"))
          << size << " " << rate;
    }
  }
  EXPECT_THAT(place.started.back(), HasSubstr("ladder-w96-lr"));
}

TEST(TunedLadder, KilledAfterAnyRunItEndsLikeOneThatWasNot) {
  Place calm;
  const LadderConfig ladder = tuned_ladder();
  calm.run(ladder);
  const auto expected = calm.facts();
  const int runs = static_cast<int>(calm.started.size());
  ASSERT_GT(runs, 20);
  for (int kill = 0; kill < runs; ++kill) {
    Place torn;
    EXPECT_THROW(torn.run(ladder, kill), std::runtime_error);
    std::set<std::string> ended;
    for (const auto& run : torn.journal().runs()) {
      if (run.record) ended.insert(run.id);
    }
    EXPECT_EQ(ended.size(), static_cast<size_t>(kill));
    torn.run(ladder);
    for (const std::string& id : torn.started) EXPECT_FALSE(ended.contains(id)) << id << " twice";
    EXPECT_EQ(torn.started.size() + ended.size(), static_cast<size_t>(runs));
    for (const auto& [name, fact] : torn.facts()) {
      EXPECT_EQ(fact, expected.at(name)) << name << " after " << kill;
    }
  }
}

TEST(TunedLadder, ABestAtTheEdgeExtendsTheGridAndSaysSo) {
  Place place;
  // The smallest size learns best far above what the rule expects.
  place.change = [](const study::RunRequest& request, study::RunRecord& record) {
    if (request.id.find("-w24-lr") == std::string::npos) return;
    record.evaluation->bits_per_byte =
        3 - 0.1 * std::log(request.config.train.optimizer.learning_rate);
  };
  place.run(tuned_ladder());
  const RungOutcome edge = rung(place.state(tuned_ladder()), "w24");
  EXPECT_EQ(edge.rate_status, rate_status::kEdge);
  EXPECT_EQ(edge.tried.size(), 5u);  // 3 and two extensions
  EXPECT_EQ(edge.learning_rate, 0.81);
  EXPECT_THAT(edge.rate_note, HasSubstr("the optimum lies beyond"));
  std::vector<std::string> said;
  for (const auto& event : place.journal().events()) {
    if (event.kind == "learning_rate") said.push_back(event.text);
  }
  EXPECT_THAT(said, Contains(HasSubstr("rung w24: the best, 0.09, is at the upper edge of the grid "
                                       "from 0.01 to 0.09; 0.27 is tried next")));
  EXPECT_THAT(said, Contains(HasSubstr("rung w24: the best, 0.81, is at the upper edge")));
  const study::Journal store = place.journal();
  std::map<std::string, std::optional<bool>> tuned;
  for (const Observation& row : ladder_observations(store).rows) {
    tuned[row.name] = row.learning_rate_tuned;
  }
  EXPECT_EQ(tuned.at("ladder-w24-lr0.81-s1"), false);
  EXPECT_EQ(tuned.at(rung(place.state(tuned_ladder()), "w44-experts").runs[0]), true);
  EXPECT_EQ(tuned.at(rung(place.state(tuned_ladder()), "w96").runs[0]), false);
}

TEST(TunedLadder, ADivergedSizeIsLeftOutAndTheNextFollowsTheOthers) {
  Place place;
  place.change = [](const study::RunRequest& request, study::RunRecord& record) {
    if (request.id.find("-w32-") == std::string::npos) return;
    record.evaluation.reset();
    record.train.outcome = study::outcome::kDiverged;
  };
  place.run(tuned_ladder());
  const LadderState state = place.state(tuned_ladder());
  EXPECT_TRUE(state.complete());
  EXPECT_EQ(rung(state, "w32").state, "failed");
  EXPECT_EQ(rung(state, "w32").rate_note, "no rate of its grid gave a loss");
  EXPECT_FALSE(rung(state, "w32").learning_rate);
  EXPECT_EQ(rung(state, "w96").state, "done");
  study::Journal store = place.journal();
  EXPECT_EQ(fit_ladder(store).rows.size(), 4u);
}

TEST(TunedLadder, OnlyRunsAtTheChosenRateAreFitted) {
  Place place;
  LadderConfig ladder = tuned_ladder();
  ladder.seeds = 3;
  place.run(ladder);
  study::Journal store = place.journal();
  const LawFit fit = fit_ladder(store);
  EXPECT_EQ(fit.rows.size(), 15u);
  EXPECT_EQ(fit.held_out.size(), 3u);
  std::set<std::string> names;
  for (const Observation& row : fit.rows) names.insert(row.name);
  for (const char* size : {"w24", "w32", "w44", "w56", "w72"}) {
    for (const std::string& run : rung(place.state(ladder), size).runs) {
      EXPECT_TRUE(names.contains(run)) << run;
    }
  }
}

TEST(TunedLadder, ARungThatSetsItsRateIsNotTuned) {
  Place place;
  LadderConfig ladder = tuned_ladder();
  ladder.rungs[1].patch["train.optimizer.learning_rate"] = 0.02;
  place.run(ladder);
  const RungOutcome given = rung(place.state(ladder), "w32");
  EXPECT_EQ(given.rate_status, rate_status::kGiven);
  EXPECT_EQ(given.runs, std::vector<std::string>{"ladder-w32-s1"});
  EXPECT_EQ(given.learning_rate, 0.02);
}

TEST(PairedLadder, DifferencesAreTakenSeedBySeed) {
  Place place;
  LadderConfig ladder = tuned_ladder();
  ladder.learning_rates.tune = "none";
  ladder.seeds = 2;
  // Seeds that move both curves alike leave the difference alone.
  place.change = [](const study::RunRequest& request, study::RunRecord& record) {
    const bool is_variant = request.id.find("experts") != std::string::npos;
    record.evaluation->bits_per_byte = 2 + 0.5 * static_cast<double>(record.seed) +
                                       (is_variant ? 0.01 * static_cast<double>(record.seed) : 0);
    if (request.id == "ladder-w44-experts-s2") {
      record.train.outcome = study::outcome::kCrashed;
      record.evaluation.reset();
    }
  };
  place.run(ladder);
  const study::Journal store = place.journal();
  const auto record_of = records_in(store);
  const auto pairs = paired_differences(place.state(ladder), record_of);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].rung, "w24-experts");
  EXPECT_EQ(pairs[0].base_rung, "w24");
  EXPECT_EQ(pairs[0].pairs, 2);
  EXPECT_NEAR(pairs[0].difference, 0.015, 1e-12);
  EXPECT_NEAR(pairs[0].relative, 0.015 / 2.75, 1e-12);
  EXPECT_NEAR(*pairs[0].standard_deviation, 0.01 / std::sqrt(2), 1e-12);
  EXPECT_EQ(pairs[1].pairs, 1);
  EXPECT_NEAR(pairs[1].difference, 0.01, 1e-12);
  EXPECT_FALSE(pairs[1].standard_deviation);
  EXPECT_THAT(outcome_table(place.state(ladder).rungs, pairs),
              HasSubstr("w44-experts against w44: +0.0100 bits per byte, +0.40 %, one seed"));
}

TEST(PairedLadder, ARunOnAnotherManifestIsRefused) {
  Place place;
  place.change = [](const study::RunRequest& request, study::RunRecord& record) {
    record.data_fingerprint = request.config.model.width == 56 ? "other manifest" : "manifest";
  };
  LadderConfig ladder = tuned_ladder();
  ladder.learning_rates.tune = "none";
  try {
    place.run(ladder);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("but this ladder is on"));
    EXPECT_THAT(error.what(), HasSubstr("a ladder has one manifest"));
  }
}

TEST(PairedLadder, AStudyDoesNotChangeItsManifest) {
  const tests::TemporaryFolder folder;
  study::Journal store(folder / "journal.db");
  store_plan(plan_ladder(tuned_base(), tuned_ladder(), {.data_fingerprint = "one"}), store);
  try {
    store_plan(plan_ladder(tuned_base(), tuned_ladder(), {.data_fingerprint = "two"}), store);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is on the corpus manifest 'one', not on 'two'"));
    EXPECT_THAT(error.what(), HasSubstr("--fresh"));
  }
}

TEST(PairedLadder, EveryRungSaysHowOftenItReadsItsText) {
  Place place;
  LadderConfig ladder = tuned_ladder();
  ladder.learning_rates.tune = "none";
  place.run(ladder);
  const LadderPlan plan = plan_ladder(tuned_base(), ladder);
  for (size_t i = 0; i < plan.rungs.size(); ++i) {
    EXPECT_NEAR(*place.state(ladder).rungs[i].epochs,
                static_cast<double>(plan.rungs[i].tokens) / 1e6, 1e-12);
  }
}

}  // namespace
}  // namespace windtunnel::scaling

#include "study/journal.h"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/secrets.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::study {
namespace {

using ::testing::HasSubstr;
using tests::TemporaryFolder;

Experiment sample_experiment() {
  Experiment experiment;
  experiment.proposal.patch = {{"train.optimizer.learning_rate", 0.03}};
  experiment.proposal.hypothesis = "a higher rate \xFF learns faster";  // not UTF-8
  experiment.proposal.prediction = {
      .delta_bits_per_byte = -0.02, .interval_low = -0.05, .interval_high = 0.01};
  experiment.proposal.proposer = "queue";
  experiment.config = {{"model", {{"width", 32}}}};
  experiment.config_fingerprint = "abc";
  return experiment;
}

RunRecord sample_record(const std::string& id) {
  RunRecord record;
  record.id = id;
  record.train.outcome = outcome::kCompleted;
  record.train.steps = 12;
  record.evaluation = EvaluationResult{.bits_per_byte = 2.5, .router_health = {{.position = 1}}};
  return record;
}

template <class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const base::Error& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(Journal, WhatIsWrittenIsReadBackByTheNextProcess) {
  const TemporaryFolder folder;
  {
    Journal journal(folder / "journal.db");
    EXPECT_EQ(journal.add_experiment(sample_experiment()), 1);
    EXPECT_EQ(journal.add_experiment(sample_experiment()), 2);
    journal.decide(
        1,
        {.verdict = verdict::kKeep, .reason = "better", .delta_bits_per_byte = -0.03, .pairs = 2});
    journal.intend_run("e001-s1", "candidate", 1, 7);
    journal.finish_run(sample_record("e001-s1"));
    journal.intend_run("ladder-a", "ladder", std::nullopt, 1);
    journal.set_fact("noise", {{"sd", 0.02}});
    journal.add_event("started", "here");
    journal.add_llm_call(
        {.purpose = "propose", .model = "m", .outcome = "ok", .request = {{"q", 1}}});
  }
  const Journal journal(folder / "journal.db", /*read_only=*/true);
  const auto experiments = journal.experiments();
  ASSERT_EQ(experiments.size(), 2u);
  EXPECT_EQ(experiments[0].state, "decided");
  EXPECT_EQ(experiments[0].decision->delta_bits_per_byte, -0.03);
  EXPECT_EQ(experiments[0].decision->interval_low, std::nullopt);
  EXPECT_EQ(experiments[1].state, "proposed");
  EXPECT_FALSE(experiments[1].decision.has_value());
  EXPECT_EQ(experiments[0].proposal.patch, (base::Json{{"train.optimizer.learning_rate", 0.03}}));
  const auto runs = journal.runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].record->evaluation->bits_per_byte, 2.5);
  EXPECT_EQ(runs[0].experiment, 1);
  EXPECT_EQ(runs[1].experiment, std::nullopt);
  EXPECT_EQ(runs[1].state, "intended");
  EXPECT_EQ(journal.fact("noise"), (base::Json{{"sd", 0.02}}));
  EXPECT_EQ(journal.fact("absent"), std::nullopt);
  EXPECT_EQ(journal.events().size(), 1u);
  EXPECT_EQ(journal.llm_calls().at(0).prompt_tokens, std::nullopt);
  EXPECT_EQ(journal.llm_calls().at(0).dollars, std::nullopt);
}

TEST(Journal, NoSecretReachesTheFile) {
  constexpr const char* kCanary = "journal-canary-77c1";
  ::setenv("WINDTUNNEL_TEST_JOURNAL_KEY", kCanary, 1);
  base::secret_from_environment("WINDTUNNEL_TEST_JOURNAL_KEY");
  const TemporaryFolder folder;
  {
    Journal journal(folder / "journal.db");
    const std::string leak = std::string("key ") + kCanary;
    Experiment experiment = sample_experiment();
    experiment.proposal.hypothesis = leak;
    journal.add_experiment(experiment);
    journal.decide(1, {.verdict = verdict::kDiscard, .reason = leak});
    journal.set_fact("noise", {{leak, leak}});
    journal.add_event("said", leak);
    journal.add_llm_call({.purpose = "p",
                          .model = "m",
                          .outcome = "ok",
                          .message = leak,
                          .request = {leak},
                          .reply = leak});
    EXPECT_EQ(journal.events().at(0).text, "key [key]");
    EXPECT_EQ(journal.experiments().at(0).proposal.hypothesis, "key [key]");
  }
  EXPECT_THAT(base::read_file(folder / "journal.db"), ::testing::Not(HasSubstr(kCanary)));
}

TEST(Journal, ATerminalStateIsWrittenExactlyOnce) {
  const TemporaryFolder folder;
  Journal journal(folder / "journal.db");
  journal.add_experiment(sample_experiment());
  journal.decide(1, {.verdict = verdict::kDiscard});
  EXPECT_THAT(message_of([&] { journal.decide(1, {.verdict = verdict::kKeep}); }),
              HasSubstr("experiment 1 is decided already"));
  EXPECT_THAT(message_of([&] { journal.finish_run(sample_record("r")); }),
              HasSubstr("run r is finished already or was never intended"));
  journal.intend_run("r", "run", std::nullopt, 1);
  journal.intend_run("r", "run", std::nullopt, 1);
  EXPECT_EQ(journal.run("r")->attempts, 2);
  journal.finish_run(sample_record("r"));
  EXPECT_THAT(message_of([&] { journal.finish_run(sample_record("r")); }),
              HasSubstr("finished already"));
  EXPECT_THAT(message_of([&] { journal.intend_run("r", "run", std::nullopt, 1); }),
              HasSubstr("must not run again"));
}

TEST(Journal, AMissingOrDamagedFileIsNamed) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { Journal(folder / "none.db", true); }), HasSubstr("no journal at"));
  std::ofstream(folder / "bad.db") << std::string(5000, 'x');
  EXPECT_THAT(message_of([&] { Journal(folder / "bad.db"); }), HasSubstr("bad.db"));
}

}  // namespace
}  // namespace windtunnel::study

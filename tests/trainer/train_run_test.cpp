#include "trainer/train_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>

#include "base/child_process.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "evaluation/bits_per_byte.h"
#include "tests/trainer/objective_setting.h"
#include "tests/trainer/small_run.h"
#include "trainer/checkpoint.h"
#include "trainer/curve.h"
#include "trainer/saved_run.h"
#include "trainer/training_step.h"
#include "trainer/warm_up.h"

namespace windtunnel::trainer {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::HasSubstr;
using tests::read_result;
using tests::small_config;
using tests::TemporaryFolder;
using tests::write_run;

study::TrainResult train(const fs::path& folder, const study::RunConfig& config) {
  write_run(folder, config);
  EXPECT_EQ(train_run(folder), base::kExitDone);
  return read_result(folder);
}

/// What of a curve does not depend on the clock.
std::vector<Json> losses(const fs::path& folder) {
  std::vector<Json> values;
  for (const auto& point : read_curve(folder / "curve.jsonl")) {
    values.push_back({point.step, *point.loss_nats_per_token, point.learning_rate,
                      *point.gradient_norm, base::to_json(point)["layers"]});
  }
  return values;
}

TEST(TrainRun, LeavesCurveCheckpointAndResult) {
  const TemporaryFolder folder;
  const auto result = train(folder.path(), small_config());
  EXPECT_EQ(result.outcome, "completed") << result.message;
  EXPECT_EQ(result.steps, 12);
  EXPECT_EQ(result.tokens, 12 * 64);
  EXPECT_EQ(losses(folder.path()).size(), 12);
  EXPECT_EQ(result.precision, "float32");
  EXPECT_GT(*result.peak_memory_bytes, 1e7);
  EXPECT_GT(*result.seconds.startup, 0);
  EXPECT_GT(*result.seconds.warmup, 0);
  EXPECT_GT(*result.seconds.training, 0);
  EXPECT_GT(*result.seconds.checkpoint, 0);
  EXPECT_FALSE(result.seconds.evaluation.has_value());
  const auto manifest = read_checkpoint_manifest(folder / "checkpoint");
  EXPECT_EQ(manifest.files.at(kWeightsFile).sha256, result.weights_sha256);
  EXPECT_EQ(manifest.position.step, 12);
}

TEST(TrainRun, EveryPointTellsTheGradientNormOfEachLayer) {
  const TemporaryFolder folder;
  train(folder.path(), small_config());
  for (const auto& point : read_curve(folder / "curve.jsonl")) {
    double squares = 0;
    for (const auto& layer : point.layers) {
      const double norm = layer.figures.at("gradient_norm");
      EXPECT_GT(norm, 0);
      squares += norm * norm;
    }
    // The rest is that of the vocabulary tables and the last normalisation.
    EXPECT_LT(std::sqrt(squares), *point.gradient_norm);
  }
}

TEST(TrainRun, EveryPointTellsTheHealthOfTheTokensSinceTheLast) {
  const TemporaryFolder folder;
  train(folder.path(), small_config());
  double bias = 0;
  for (const auto& point : read_curve(folder / "curve.jsonl")) {
    ASSERT_EQ(point.layers.size(), 2);
    EXPECT_EQ(point.layers[1].position, 1);
    const auto& health = *point.layers[1].router;
    EXPECT_EQ(health.position, 1);
    // 64 tokens with two experts each: shares are multiples of 1/128.
    EXPECT_EQ(health.max_load * 128, std::round(health.max_load * 128));
    EXPECT_GT(*health.z_loss, 0);
    EXPECT_GE(*health.saturation, 0);
    EXPECT_EQ(*health.bias_at_clamp, false);
    bias = *health.bias_max;
    // No step moves a bias further than bias_step times the largest relative error.
    EXPECT_LE(bias, 1e-3 * 3 * static_cast<double>(point.step));
  }
  EXPECT_GT(bias, 0);
}

TEST(TrainRun, LearnsTheTinyText) {
  const TemporaryFolder folder;
  study::RunConfig config = small_config();
  config.train.budget.amount = 150;
  const auto result = train(folder.path(), config);
  const auto curve = read_curve(folder / "curve.jsonl");
  // Logits start as unit normal numbers, which costs half a nat over the uniform distribution.
  EXPECT_NEAR(*curve.front().loss_nats_per_token, std::log(257) + 0.5, 0.3);
  EXPECT_LT(*result.loss_nats_per_token, 2);
}

TEST(TrainRun, SameSeedSameBits) {
  const TemporaryFolder folder;
  const auto first = train(folder / "a", small_config());
  const auto second = train(folder / "b", small_config());
  EXPECT_EQ(losses(folder / "a"), losses(folder / "b"));
  EXPECT_EQ(first.weights_sha256, second.weights_sha256);
  study::RunConfig other = small_config();
  other.train.seed = 2;
  EXPECT_NE(train(folder / "c", other).weights_sha256, first.weights_sha256);
}

/// Trains `config` once as a whole and once with interruptions; the two must leave the same bits.
void expect_the_same_bits_after_interruptions(const study::RunConfig& config) {
  const TemporaryFolder folder;
  const auto whole = train(folder / "whole", config);

  write_run(folder / "parts", config);
  const auto run_a_part = [&] {
    return base::run_child({.command = {WINDTUNNEL_BINARY_DIR "/windtunnel-train", "train", "--run",
                                        (folder / "parts").string()},
                            .output_file = folder / "log"},
                           {}, std::chrono::seconds(20),
                           [&, seen = read_curve(folder / "parts/curve.jsonl").size()] {
                             return read_curve(folder / "parts/curve.jsonl").size() < seen + 20;
                           });
  };
  base::ExitStatus status;
  int interruptions = 0;
  do {
    status = run_a_part();
    if (status.code == base::kExitInterrupted) {
      EXPECT_EQ(read_result(folder / "parts").outcome, "interrupted");
      ++interruptions;
    }
  } while (status.code == base::kExitInterrupted && interruptions < 50);
  EXPECT_EQ(status.code, 0) << base::read_file(folder / "log");
  EXPECT_GE(interruptions, 1);
  EXPECT_EQ(read_result(folder / "parts").outcome, "completed");
  EXPECT_EQ(losses(folder / "parts"), losses(folder / "whole"));
  EXPECT_EQ(read_result(folder / "parts").weights_sha256, whole.weights_sha256);
}

TEST(TrainRun, ResumedAtAnyStepItEndsWithTheSameBits) {
  study::RunConfig config = small_config();
  config.train.budget.amount = 400;  // points lie two steps apart, so a stop may fall between two
  expect_the_same_bits_after_interruptions(config);
}

/// Everything that changes training at once, with weights and optimizer states of their own.
study::RunConfig with_all_objectives() {
  study::RunConfig config = small_config();
  base::Json document = base::to_json(config);
  for (const auto& [name, options] : tests::objective_settings()) {
    document["train"]["objectives"][name].merge_patch(options);
  }
  config = base::from_json<study::RunConfig>(document, "test");
  config.train.objectives.output_centering.kind = "center";
  config.train.embedding_noise.site = "normalized";
  config.train.optimizer.weight_decay_schedule = "constant";
  config.train.micro_batch_rows = 2;
  return config;
}

TEST(TrainRun, WithAllObjectivesToo) {
  study::RunConfig config = with_all_objectives();
  config.train.budget.amount = 300;
  expect_the_same_bits_after_interruptions(config);
}

TEST(TrainRun, ObjectivesAreNoPartOfTheWeightsAndOfTheirEvaluation) {
  const TemporaryFolder folder;
  train(folder / "plain", small_config());
  const auto result = train(folder / "all", with_all_objectives());
  ASSERT_EQ(result.outcome, "completed") << result.message;
  const auto plain = load_run(folder / "plain"), all = load_run(folder / "all");
  const NamedTensors trained = weights_of(*all.model), other = weights_of(*plain.model);
  ASSERT_EQ(trained.size(), other.size());
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < trained.size(); ++i) {
    EXPECT_EQ(trained[i].first, other[i].first);
    torch::Tensor(other[i].second).copy_(trained[i].second);
  }
  const auto text = evaluation::validation_text(tests::shared_corpus(), all.tokenizer);
  EXPECT_EQ(evaluation::evaluate(*all.model, text, 8).total_nats,
            evaluation::evaluate(*plain.model, text, 8).total_nats);
}

TEST(TrainRun, TheLedgerHasTheFlopsOfObjectivesUnderTheirOwnName) {
  const TemporaryFolder folder;
  const auto plain = train(folder / "plain", small_config());
  EXPECT_EQ(plain.flops_objectives, 0);
  study::RunConfig config = small_config();
  config.train.objectives.token_order = {.weight = 0.1, .window = 4};
  const auto costly = train(folder / "costly", config);
  EXPECT_EQ(costly.flops_objectives, 12 * 64 * 6.0 * 257 * 16);
  EXPECT_NEAR(*costly.flops_exact, *plain.flops_exact + *costly.flops_objectives, 1);
}

TEST(TrainRun, ACompletedRunIsLeftAsItIs) {
  const TemporaryFolder folder;
  train(folder.path(), small_config());
  const std::string before = base::read_file(folder / "train.json");
  EXPECT_EQ(train_run(folder.path()), base::kExitDone);
  EXPECT_EQ(base::read_file(folder / "train.json"), before);
}

TEST(TrainRun, ADiskThatCannotHoldTheCheckpointIsNoCompletedRun) {
  const TemporaryFolder folder;
  write_run(folder.path(), small_config());
  // A limit on the file size fails the write of the weights as a full disk does.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{16'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(train_run(folder.path()), base::Error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  const auto result = read_result(folder.path());
  EXPECT_EQ(result.outcome, "crashed");
  EXPECT_THAT(result.message, HasSubstr("cannot write"));
  EXPECT_FALSE(fs::exists(folder / "checkpoint"));
  // With room again, the same command trains it.
  EXPECT_EQ(train_run(folder.path()), base::kExitDone);
  EXPECT_EQ(read_result(folder.path()).outcome, "completed");
}

TEST(TrainRun, ABudgetOfSecondsEndsWithinOneStepOfIt) {
  const TemporaryFolder folder;
  study::RunConfig config = small_config();
  config.train.budget = {.kind = "seconds", .amount = 0.3};
  const auto result = train(folder.path(), config);
  EXPECT_EQ(result.outcome, "completed");
  EXPECT_GE(*result.seconds.training, 0.3);
  EXPECT_LT(*result.seconds.training, 0.6);
  EXPECT_EQ(read_curve(folder / "curve.jsonl").back().progress, 1);
}

TEST(TrainRun, ADivergingRunSaysSoAndLeavesNoCheckpoint) {
  const TemporaryFolder folder;
  study::RunConfig config = small_config();
  config.train.optimizer.learning_rate = 10;
  config.train.optimizer.weight_decay = 0;
  config.train.schedule = {.kind = "constant", .warmup_fraction = 0, .final_fraction = 1};
  config.train.budget.amount = 200;
  const auto result = train(folder.path(), config);
  EXPECT_EQ(result.outcome, "diverged");
  EXPECT_THAT(result.message, HasSubstr("at step"));
  EXPECT_LT(*result.steps, 200);
  EXPECT_EQ(result.weights_sha256, "");
  EXPECT_FALSE(fs::exists(folder / "checkpoint"));
}

TEST(TrainRun, WhatTheMachineCannotGiveIsRefused) {
  const TemporaryFolder folder;
  study::RunConfig config = small_config();
  config.train.device = "cuda";
  const auto result = train(folder.path(), config);
  if (result.outcome == "completed") GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(result.outcome, "refused");
  EXPECT_THAT(result.message, HasSubstr("use train.device=cpu"));
}

TEST(TrainRun, WhatTheCorpusCannotGiveIsRefused) {
  const TemporaryFolder folder;
  study::RunConfig config = small_config();
  config.data.corpus = (folder / "nowhere").string();
  auto result = train(folder / "a", config);
  EXPECT_EQ(result.outcome, "refused");
  EXPECT_THAT(result.message, HasSubstr("nowhere"));

  tests::write_corpus(folder / "short", {"abc"}, {"abc"});
  config.data.corpus = (folder / "short").string();
  result = train(folder / "b", config);
  EXPECT_EQ(result.outcome, "refused");
  EXPECT_THAT(result.message, HasSubstr("4 tokens, too few for one row"));

  config = small_config();
  config.model.vocabulary_size = 100;
  result = train(folder / "c", config);
  EXPECT_EQ(result.outcome, "refused");
  EXPECT_THAT(result.message, HasSubstr("model.vocabulary_size = 100"));

  config = small_config();
  config.train.tokens_per_step = 65;
  EXPECT_EQ(train(folder / "d", config).outcome, "refused");
}

TEST(TrainRun, ADamagedCheckpointIsNamedAndLeftAsItIs) {
  const TemporaryFolder folder;
  train(folder.path(), small_config());
  fs::remove(folder / "train.json");
  const fs::path file = folder / "checkpoint/optimizer.safetensors";
  std::string content = base::read_file(file);
  content[content.size() / 2] ^= 4;
  std::ofstream(file, std::ios::binary) << content;
  EXPECT_THAT(
      [&] { train_run(folder.path()); },
      testing::ThrowsMessage<base::Error>(HasSubstr("optimizer.safetensors has flipped bytes")));
  EXPECT_EQ(base::read_file(file), content);
  EXPECT_EQ(read_result(folder.path()).outcome, "crashed");
}

TEST(TrainRun, ACheckpointOfAnotherConfigurationIsRefused) {
  const TemporaryFolder folder;
  train(folder.path(), small_config());
  fs::remove(folder / "train.json");
  study::RunConfig config = small_config();
  config.train.seed = 9;
  write_run(folder.path(), config);
  EXPECT_THAT([&] { train_run(folder.path()); },
              testing::ThrowsMessage<base::Error>(HasSubstr("another configuration")));
}

TEST(TrainRun, MicroBatchesGiveTheSameGradients) {
  const TemporaryFolder folder;
  study::RunConfig config = small_config();
  train(folder / "whole", config);
  config.train.micro_batch_rows = 1;
  train(folder / "parts", config);
  const auto whole = read_curve(folder / "whole/curve.jsonl");
  const auto parts = read_curve(folder / "parts/curve.jsonl");
  // Auxiliary losses are means over a micro-batch, so only the first step agrees closely.
  EXPECT_NEAR(*whole[0].loss_nats_per_token, *parts[0].loss_nats_per_token, 1e-4);
  EXPECT_NEAR(*whole[0].gradient_norm, *parts[0].gradient_norm, 0.02 * *whole[0].gradient_norm);
}

TEST(WarmUp, LeavesNoTrace) {
  const auto config = study::resolve_run_config(base::to_json(with_all_objectives()), "test");
  model::LanguageModel model(config.model, base::RandomStream(1, "weights"));
  corpus::BatchStream data(config.data.corpus, {.rows = 4, .context_tokens = 16}, 1);
  Objectives objectives({.config = config, .model = model, .tokenizer = tests::byte_tokenizer});
  std::vector<torch::Tensor> before;
  const auto all_weights = [&] {
    NamedTensors all = weights_of(model);
    for (auto& entry : objectives.state()) all.push_back(std::move(entry));
    return all;
  };
  for (const auto& [name, tensor] : all_weights()) before.push_back(tensor.detach().clone());
  const WarmUp result =
      warm_up(model, objectives, data.next(), config.train, torch::Device(at::kCPU));
  EXPECT_EQ(result.precision, "float32");
  EXPECT_GT(result.seconds_per_step, 0);
  size_t i = 0;
  for (const auto& [name, tensor] : all_weights()) {
    EXPECT_TRUE(tensor.equal(before[i++])) << name;
    EXPECT_FALSE(tensor.grad().defined()) << name;
  }
  EXPECT_TRUE(model.router_health().empty());
}

}  // namespace
}  // namespace windtunnel::trainer

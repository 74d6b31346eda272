#pragma once
// The configuration of one run: the contract between the control program and the trainer.

#include "base/config.h"
#include "model/census.h"
#include "model/model_config.h"
#include "study/embedding_noise.h"
#include "study/objectives.h"

namespace windtunnel::study {

struct DataConfig {
  /// Folder of a packed corpus (corpus/packed_corpus.h).
  std::string corpus;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("corpus", self.corpus,
          {.help = "folder of a packed corpus; windtunnel corpus makes one"});
  }
};

struct BudgetConfig {
  /// "seconds" counts measured training only: neither start-up, warm-up nor evaluation.
  std::string kind = "seconds";
  double amount = 10;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kind", self.kind,
          {.help = "what the budget counts; flops by the exact ledger with objectives, "
                   "tokens_per_parameter per active parameter of the model",
           .source = "tokens_per_parameter: Hoffmann et al. 2022, arXiv:2203.15556",
           .choices = {"seconds", "steps", "tokens", "flops", "tokens_per_parameter"}});
    visit("amount", self.amount,
          {.help = "how much of it", .unit = "as kind says", .exclusive_minimum = 0});
  }
};

struct ScheduleConfig {
  std::string kind = "cosine";
  double warmup_fraction = 0.05;
  double final_fraction = 0.1;
  double decay_fraction = 0.2;
  // What the source used, whatever the budget.
  int64_t warmup_steps = 100;
  int64_t estimated_steps = 2390;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kind", self.kind,
          {.help = "shape of the learning rate over the budget's own progress from 0 to 1; "
                   "step_cosine is keyed to step numbers instead, as the fixed-wall study had it",
           .choices = {"cosine", "wsd", "constant", "step_cosine"}});
    visit("warmup_fraction", self.warmup_fraction,
          {.help = "share of the budget over which the rate rises from 0; unused by step_cosine",
           .minimum = 0,
           .maximum = 0.9});
    visit(
        "final_fraction", self.final_fraction,
        {.help = "rate at the end over the peak; unused by constant", .minimum = 0, .maximum = 1});
    visit("decay_fraction", self.decay_fraction,
          {.help = "wsd only: share of the budget at its end over which the rate falls; what the "
                   "warm-up leaves where that is less",
           .source = "Haegele et al. 2024, arXiv:2405.18392: 10 to 20 % suffice",
           .exclusive_minimum = 0,
           .maximum = 1});
    visit("warmup_steps", self.warmup_steps,
          {.help = "step_cosine only: steps over which the rate rises from 0, which the first has",
           .unit = "steps",
           .minimum = 0});
    visit("estimated_steps", self.estimated_steps,
          {.help = "step_cosine only: step at which the cosine has fallen to final_fraction, where "
                   "the rate then stays; more than warmup_steps",
           .unit = "steps",
           .minimum = 1});
  }
};

struct OptimizerConfig {
  /// For weight matrices; everything else always trains with AdamW.
  std::string matrices = "muon";
  double learning_rate = 0.02;
  double weight_decay = 0.1;
  std::string weight_decay_schedule = "rate";
  double gradient_clip_norm = 1.0;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.95;
  double adam_epsilon = 1e-8;
  double muon_momentum = 0.95;
  double muon_beta2 = 0.95;
  std::string muon_experts = "stacked";

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("matrices", self.matrices,
          {.help = "optimizer of weight matrices; embeddings, head and scalars use adamw",
           .source = "Jordan et al. 2024, kellerjordan.github.io/posts/muon; Loshchilov and Hutter "
                     "2019, arXiv:1711.05101",
           .choices = {"muon", "adamw"}});
    visit("learning_rate", self.learning_rate,
          {.help = "peak rate of AdamW; Muon's is this times 0.2 sqrt(max(d_in, d_out))",
           .source = "Liu et al. 2025, arXiv:2502.16982",
           .exclusive_minimum = 0,
           .maximum = 10});
    visit("weight_decay", self.weight_decay,
          {.help = "share of a weight that decays per step at a learning rate of 1, apart from its "
                   "gradient",
           .source = "Loshchilov and Hutter 2019, arXiv:1711.05101",
           .minimum = 0,
           .maximum = 10});
    visit("weight_decay_schedule", self.weight_decay_schedule,
          {.help = "rate: a step takes weight_decay x its learning rate off the weights; constant: "
                   "weight_decay x the peak rate in every step",
           .choices = {"rate", "constant"}});
    visit("gradient_clip_norm", self.gradient_clip_norm,
          {.help = "global norm above which gradients are scaled down",
           .source = "Pascanu et al. 2012, arXiv:1211.5063",
           .exclusive_minimum = 0});
    visit("adam_beta1", self.adam_beta1,
          {.help = "decay of the first moment",
           .source = "Kingma and Ba 2014, arXiv:1412.6980",
           .minimum = 0,
           .exclusive_maximum = 1});
    visit("adam_beta2", self.adam_beta2,
          {.help = "decay of the second moment",
           .source = "Kingma and Ba 2014, arXiv:1412.6980",
           .minimum = 0,
           .exclusive_maximum = 1});
    visit("adam_epsilon", self.adam_epsilon,
          {.help = "added to the root of the second moment",
           .source = "Kingma and Ba 2014, arXiv:1412.6980",
           .exclusive_minimum = 0});
    visit("muon_momentum", self.muon_momentum,
          {.help = "Nesterov momentum", .minimum = 0, .exclusive_maximum = 1});
    visit("muon_beta2", self.muon_beta2,
          {.help = "decay of the per-row or per-column second moment",
           .source = "Li et al. 2025, arXiv:2510.05491",
           .minimum = 0,
           .exclusive_maximum = 1});
    visit("muon_experts", self.muon_experts,
          {.help = "muon only: the experts of a layer as one tall matrix [experts x inputs, "
                   "outputs], as the fixed-wall study had it, or each orthogonalised on its own",
           .choices = {"stacked", "separate"}});
  }
};

struct TrainConfig {
  BudgetConfig budget;
  int64_t tokens_per_step = 2048;
  /// 0: all rows of a step at once.
  int64_t micro_batch_rows = 0;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  ObjectivesConfig objectives;
  EmbeddingNoiseConfig embedding_noise;
  std::string precision = "float32";
  std::string device = "cpu";
  int threads = 1;
  /// Owned by the harness; a proposal cannot set it.
  int64_t seed = 1;
  double checkpoint_every_seconds = 30;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("budget", self.budget, {.help = "how long to train"});
    visit("tokens_per_step", self.tokens_per_step,
          {.help = "tokens of one optimizer step; a multiple of model.context_tokens",
           .unit = "tokens",
           .minimum = 1});
    visit("micro_batch_rows", self.micro_batch_rows,
          {.help = "rows in memory at once; 0: all of a step", .unit = "rows", .minimum = 0});
    visit("optimizer", self.optimizer, {.help = "how weights are updated"});
    visit("schedule", self.schedule, {.help = "learning rate over the run"});
    visit("objectives", self.objectives,
          {.help = "what is trained for beside plain cross-entropy; evaluation is not affected"});
    visit("embedding_noise", self.embedding_noise, {.help = "noise on activations in training"});
    visit("precision", self.precision,
          {.help = "type of products; weights stay float32. auto measures bfloat16 against float32 "
                   "at start and records the choice",
           .source = "Kalamkar et al. 2019, arXiv:1905.12322",
           .choices = {"float32", "bfloat16", "auto"}});
    visit("device", self.device, {.help = "where to train", .choices = {"cpu", "cuda"}});
    visit("threads", self.threads,
          {.help = "CPU threads of the process", .unit = "threads", .minimum = 1, .maximum = 1024});
    visit("seed", self.seed, {.help = "gives all random streams of the run", .minimum = 0});
    visit("checkpoint_every_seconds", self.checkpoint_every_seconds,
          {.help = "pause between checkpoints; the last step is always saved",
           .unit = "seconds",
           .exclusive_minimum = 0});
  }
};

struct EvaluationConfig {
  int64_t rows = 16;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("rows", self.rows,
          {.help = "rows of context_tokens evaluated at once", .unit = "rows", .minimum = 1});
  }
};

struct RunConfig {
  model::ModelConfig model;
  DataConfig data;
  TrainConfig train;
  EvaluationConfig evaluation;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("model", self.model, {.help = "the language model"});
    visit("data", self.data, {.help = "what it reads"});
    visit("train", self.train, {.help = "how it trains"});
    visit("evaluation", self.evaluation, {.help = "how it is scored"});
  }
};

/// Checks a configuration as far as that goes without a device and fills in everything that is
/// derived: model options, canonical pattern, vocabulary from the corpus if data.corpus is there.
/// Errors: ConfigError with all problems; `subject` names the document.
RunConfig resolve_run_config(const base::Json& document, const std::string& subject);

/// Identity of an experiment: the resolved configuration without the seed.
std::string config_fingerprint(const RunConfig& config);

/// Tokens whose activations are in memory at once.
int64_t tokens_in_flight(const RunConfig& config);

/// The model's census with the tokens in flight and the optimizer that the run will have.
model::Census census_of(const RunConfig& config);

/// Training FLOPs per token by the exact ledger, those of the objectives included.
double training_flops_per_token(const RunConfig& config);

/// Steps of the budget where that is known before training (all kinds but seconds), else 0.
int64_t planned_steps(const RunConfig& config);

}  // namespace windtunnel::study

WINDTUNNEL_COMPILE_FIELDS(extern, windtunnel::study::RunConfig)

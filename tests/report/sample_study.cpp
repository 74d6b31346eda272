#include "tests/report/sample_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/random.h"
#include "scaling/gain.h"
#include "study/journal.h"

namespace windtunnel::report {
namespace {

namespace fs = std::filesystem;
using base::Json;
using study::Journal;

constexpr double kBaseline = 2.936;
constexpr double kNoise = 0.026;

struct Idea {
  const char* path;
  Json value;
  const char* hypothesis;
  double predicted;
  double half_width;
  /// The change it really makes.
  double effect;
  const char* proposer;
  const char* verdict;
  const char* outcome = study::outcome::kCompleted;
};

const std::vector<Idea>& ideas() {
  static const std::vector<Idea> all = {
      {"train.optimizer.learning_rate", 0.06, "The peak rate is below the edge of stability.",
       -0.03, 0.04, -0.052, "queue", "keep"},
      {"model.layers.E.num_experts", 16, "More experts raise capacity at the same FLOPs.", -0.02,
       0.03, 0.012, "queue", "discard"},
      {"train.optimizer.matrices", "adamw", "AdamW may be enough at this width.", 0.01, 0.05, 0.171,
       "random", "discard"},
      {"model.layers.E.router", "sigmoid", "A selection bias balances without a loss term.", -0.01,
       0.03, -0.041, "random", "repair"},
      {"train.tokens_per_step", 1024, "Half the batch gives twice the steps in the same time.",
       -0.02, 0.05, -0.038, "queue", "keep"},
      {"train.optimizer.learning_rate", 9.5, "<script>alert('x')</script> go **much** higher", -0.1,
       0.05, 0, "language_model", "failed", study::outcome::kDiverged},
      {"model.pattern", "*D*D",
       "Without experts ![pixel](http://example.invalid/p.png) it is `faster`.", 0.01, 0.03, 0.024,
       "language_model", "discard"},
      {"data.corpus", "elsewhere", "Other text would be easier\n# to predict", -0.5, 0.1, 0,
       "language_model", "vetoed"},
      {"model.layers.*.window_tokens", 64, "Short windows spend less on attention.", -0.005, 0.02,
       -0.021, "language_model", "keep"},
      {"train.schedule.warmup_fraction", 0.02, "A shorter warm-up leaves more steps at full rate.",
       -0.01, 0.02, -0.004, "random", "discard"},
      {"train.optimizer.weight_decay", 0.3, "Stronger decay helps short runs.", -0.01, 0.03, 0.019,
       "random", "discard"}};
  return all;
}

Json baseline_config() {
  return Json::parse(R"({
    "model": {"pattern": "*D*E", "width": 32,
              "layers": {"*": {"window_tokens": 0}, "E": {"num_experts": 8, "router": "softmax"}}},
    "train": {"optimizer": {"learning_rate": 0.03, "matrices": "muon", "weight_decay": 0.1},
              "schedule": {"warmup_fraction": 0.05}, "tokens_per_step": 2048}})");
}

struct Writer {
  fs::path folder;
  Journal journal;
  base::RandomStream noise{1, "sample"};

  study::RunRecord record(const std::string& id, const std::string& purpose, int64_t seed,
                          double bits_per_byte, double seconds, double parameters, double tokens) {
    study::RunRecord record;
    record.id = id;
    record.purpose = purpose;
    record.seed = seed;
    record.config_fingerprint = "c0ffee" + id;
    record.data_fingerprint = "9f2b6d0c1a";
    record.comparability_key = "key";
    record.code_version = "7d3f0a9b8c6e5f4d3c2b1a09";
    record.parameters_active = static_cast<int64_t>(parameters);
    record.parameters_total = static_cast<int64_t>(parameters * 2.1);
    record.flops_per_token_exact = 6.9 * parameters;
    record.train.outcome = study::outcome::kCompleted;
    record.train.steps = static_cast<int64_t>(tokens / 2048);
    record.train.tokens = static_cast<int64_t>(tokens);
    record.train.flops_exact = 6.9 * parameters * tokens;
    record.train.tokens_per_second = tokens / seconds;
    record.train.peak_memory_bytes = 4.1e8;
    record.train.device_name = "Xeon Platinum 8481C";
    record.train.precision = "float32";
    record.train.seconds = {.startup = 0.9,
                            .warmup = 0.6,
                            .training = seconds,
                            .checkpoint = 0.1,
                            .evaluation = 1.4 + seconds / 40};
    record.evaluation = study::EvaluationResult{.bits_per_byte = bits_per_byte, .bytes = 400000};
    record.evaluation->validation_text_sha256 = "41f0c2e5d1";
    record.started_at = "2026-01-31T22:00:00Z";
    record.wall_seconds = seconds + 3.2 + seconds / 40;
    return record;
  }

  void curve(const std::string& id, double bits_per_byte, double seconds, double until = 1) {
    fs::create_directories(folder / "runs" / id);
    std::ofstream file(folder / "runs" / id / "curve.jsonl");
    const double last = bits_per_byte * 1.55;
    for (int i = 1; i <= 60 * until; ++i) {
      const double progress = i / 60.0;
      const double loss =
          last + 2.2 * std::pow(progress * 12 + 0.35, -0.9) - 0.2 + 0.03 * noise.normal();
      study::CurvePoint point{.step = i * 10,
                              .tokens = i * 20480,
                              .progress = progress,
                              .training_seconds = progress * seconds,
                              .loss_nats_per_token = loss,
                              .learning_rate = 0.03};
      // Layer 3 settles more slowly than layer 1.
      for (const int position : {1, 3}) {
        const double skew = std::exp(-progress * 40 / position) + 0.02 * noise.normal();
        point.layers.push_back({.position = position,
                                .router = study::LayerHealth{.position = position,
                                                             .load_entropy = 0.96 - 0.4 * skew,
                                                             .load_cv = 0.3 + skew,
                                                             .max_load = 0.18 + 0.4 * skew}});
      }
      file << base::to_json(point).dump() << "\n";
    }
  }

  void run(const std::string& id, const std::string& purpose, std::optional<int64_t> experiment,
           int64_t seed, double bits_per_byte, double seconds, double parameters, double tokens) {
    journal.intend_run(id, purpose, experiment, seed);
    journal.finish_run(record(id, purpose, seed, bits_per_byte, seconds, parameters, tokens));
    curve(id, bits_per_byte, seconds);
  }

  void failed_run(const std::string& id, int64_t experiment, const char* outcome) {
    journal.intend_run(id, "candidate", experiment, 1);
    study::RunRecord failed = record(id, "candidate", 1, 0, 2.5, 55000, 3e5);
    failed.evaluation.reset();
    failed.train.outcome = outcome;
    failed.train.message = "loss became NaN at step 41 & <b>stopped</b>";
    failed.train.seconds.evaluation.reset();
    journal.finish_run(failed);
    curve(id, 4.2, 10, 0.25);
  }
};

double seed_effect(int64_t seed) { return kNoise * std::sin(static_cast<double>(seed) * 2.3); }

void write_baseline(Writer& writer) {
  writer.journal.set_fact("baseline", {{"config", baseline_config()}, {"fingerprint", "c0ffee"}});
  writer.journal.set_fact("corpus", Json::parse(R"({"name": "debian_docs", "vocabulary_size": 1024,
      "train": {"tokens": 11200000, "bytes": 25800000}})"));
  for (int64_t seed = 1; seed <= 4; ++seed) {
    writer.run(fmt::format("baseline-s{}", seed), "baseline", 0, seed,
               kBaseline + seed_effect(seed), 10, 55000, 1.3e6);
  }
  writer.journal.set_fact("noise", {{"comparability_key", "key"},
                                    {"run_sd", kNoise},
                                    {"run_degrees", 9},
                                    {"pair_sd", 0.017},
                                    {"pair_degrees", 7},
                                    {"baseline_sd", 0.024},
                                    {"baseline_degrees", 3}});
}

study::Decision decide(const Idea& idea, double delta, int64_t pairs) {
  study::Decision decision;
  decision.verdict = idea.verdict;
  decision.noise_bits_per_byte = kNoise;
  if (decision.verdict == study::verdict::kVetoed) {
    decision.reason = "data.corpus = \"elsewhere\": is frozen";
    return decision;
  }
  if (decision.verdict == study::verdict::kFailed) {
    decision.reason = "e006-s1 diverged: loss became NaN at step 41";
    return decision;
  }
  const double half_width = 0.05 / std::sqrt(static_cast<double>(pairs));
  decision.delta_bits_per_byte = delta;
  decision.interval_low = delta - half_width;
  decision.interval_high = delta + half_width;
  decision.pairs = pairs;
  decision.prediction_covered = std::abs(delta - idea.predicted) <= idea.half_width;
  decision.throughput_change = idea.effect / 3;
  decision.reason = fmt::format("{:+.4f} bits per byte over {} pairs", delta, pairs);
  decision.observed = "gradient norm 0.41 -> 0.38";
  return decision;
}

void write_night(Writer& writer, const SampleOptions& options) {
  double level = kBaseline;
  int64_t parent = 0;
  Json config = baseline_config();
  const int count = std::min<int>(options.experiments, static_cast<int>(ideas().size()));
  for (int number = 1; number <= count; ++number) {
    const Idea& idea = ideas()[static_cast<size_t>(number - 1)];
    study::Experiment experiment;
    experiment.proposal.patch = Json::object({{idea.path, idea.value}});
    experiment.proposal.hypothesis = idea.hypothesis;
    experiment.proposal.prediction = {.delta_bits_per_byte = idea.predicted,
                                      .interval_low = idea.predicted - idea.half_width,
                                      .interval_high = idea.predicted + idea.half_width,
                                      .probability_kept = 0.4};
    experiment.proposal.diagnostic = "The gradient norm falls; if it rises, the idea is wrong.";
    experiment.proposal.proposer = idea.proposer;
    experiment.parent = parent;
    experiment.config = base::apply_patch(config, experiment.proposal.patch);
    experiment.proposed_at = fmt::format("2026-01-31T22:{:02}:00Z", number * 2);
    writer.journal.add_experiment(experiment);
    if (std::string(idea.verdict) == study::verdict::kVetoed) {
      writer.journal.add_event("vetoed", "experiment 8: data.corpus is frozen");
      writer.journal.decide(number, decide(idea, 0, 0));
      continue;
    }
    if (idea.outcome != std::string(study::outcome::kCompleted)) {
      writer.failed_run(fmt::format("e{:03}-s1", number), number, idea.outcome);
      writer.journal.decide(number, decide(idea, 0, 0));
      continue;
    }
    const int64_t pairs = 2 + number % 3;
    double sum = 0;
    for (int64_t seed = 1; seed <= pairs; ++seed) {
      const double delta = idea.effect + 0.008 * writer.noise.normal();
      sum += delta;
      const std::string id = fmt::format("e{:03}-s{}", number, seed);
      if (options.is_half_way && number == count && seed == pairs) {
        writer.journal.intend_run(id, "candidate", number, seed);
        writer.curve(id, level, 10, 0.4);
        return;
      }
      writer.run(id, "candidate", number, seed, level + delta + seed_effect(seed), 10, 55000,
                 1.3e6);
    }
    const double delta = sum / static_cast<double>(pairs);
    writer.journal.decide(number, decide(idea, delta, pairs));
    if (std::string(idea.verdict) != study::verdict::kKeep) continue;
    level += delta;
    parent = number;
    config = experiment.config;
  }
  writer.journal.set_fact("night.stop", {{"reason", "experiments_done"}, {"text", "11 decided"}});
}

/// L(C) = 1.55 + 1.52 (C / 1.68e11)^-0.256
double law(double flops) { return 1.546 + 1.521 * std::pow(flops / 1.68e11, -0.256); }

/// One variant whose gain grows with compute, one whose gain fades.
void write_gains(Writer& writer) {
  struct Variant {
    const char* name;
    double at_smallest;
    double per_e_fold;
  };
  Json gains = Json::array();
  for (const Variant& variant :
       {Variant{"stem", 0.012, 0.001}, Variant{"wide_ffn", 0.02, -0.003}}) {
    std::vector<scaling::SizeGain> sizes;
    for (int i = 0; i < 4; ++i) {
      const scaling::ArmAtSize arm{.runs = 3, .rate_state = scaling::arm_rate::kTuned};
      sizes.push_back({.size = fmt::format("w{}", 24 + 16 * i),
                       .point = {.flops = 1.68e11 * std::pow(3.5, i)},
                       .baseline = arm,
                       .changed = arm,
                       .gain = variant.at_smallest + variant.per_e_fold * i * std::log(3.5) +
                               0.0005 * writer.noise.normal(),
                       .pairs = 3,
                       .standard_deviation = 0.001 + 0.0002 * i});
    }
    scaling::GainVerdict verdict = scaling::judge_gain(sizes);
    verdict.baseline = "full";
    verdict.changed = variant.name;
    gains.push_back(base::to_json(verdict));
  }
  writer.journal.set_fact("ladder.gains", gains);
}

void write_ladder(Writer& writer, bool has_outcome) {
  struct Size {
    const char* name;
    double parameters;
  };
  const Size sizes[] = {{"w24", 37440},  {"w32", 55100},  {"w44", 87000},
                        {"w56", 125000}, {"w72", 188000}, {"w96", 302000}};
  Json rungs = Json::array();
  Json band = Json::array();
  double held_out_flops = 0;
  for (const Size& size : sizes) {
    const bool is_held_out = size.name == std::string("w96");
    const double tokens = 20 * size.parameters;
    const double flops = 6 * size.parameters * tokens;
    const double seconds = tokens / (4.6e9 / size.parameters);
    rungs.push_back({{"name", size.name},
                     {"held_out", is_held_out},
                     {"parameters_active", size.parameters},
                     {"tokens", tokens},
                     {"flops_six_nd", flops},
                     {"expected_seconds", seconds * 1.1}});
    if (is_held_out) held_out_flops = flops;
    if (is_held_out && !has_outcome) continue;
    writer.run(fmt::format("ladder-{}-s1", size.name), "ladder", std::nullopt, 1,
               law(flops) * (1 + 0.006 * writer.noise.normal()), seconds, size.parameters, tokens);
  }
  writer.journal.set_fact("ladder.plan", {{"rungs", rungs}});
  for (int i = 0; i <= 40; ++i) {
    const double flops = 1.68e11 * std::pow(held_out_flops / 1.68e11, i / 40.0);
    const double width = 0.01 + 0.02 * std::pow(i / 40.0, 2);
    band.push_back(
        {{"flops", flops},
         {"predicted", law(flops)},
         {"mean", {{"low", law(flops) * (1 - width)}, {"high", law(flops) * (1 + width)}}}});
  }
  const double predicted = law(held_out_flops);
  const Json interval = {{"low", predicted * 0.955}, {"high", predicted * 1.045}};
  Json fit = {{"law", "loss_c"},
              {"formula", "L(C) = E + A C^-alpha"},
              {"options", {{"confidence", 0.95}}},
              {"loss_unit", "bits_per_byte"},
              {"flops_convention", "6ND"},
              {"parameters", {{"E", 1.546}, {"A", 1118.2}, {"alpha", 0.256}}},
              {"intervals",
               {{"profile",
                 {{"E", {{"low", 0}, {"high", 1.79}}},
                  {"A", {{"low", 90.1}, {"high", nullptr}}},
                  {"alpha", {{"low", 0.11}, {"high", 0.37}}}}}}},
              {"verdict",
               {{"overall", "refused"},
                {"parameters",
                 {{"E", {{"verdict", "refused"}, {"reasons", {"the interval reaches 0"}}}},
                  {"A", {{"verdict", "weak"}, {"reasons", {"E is not identified"}}}},
                  {"alpha", {{"verdict", "weak"}, {"reasons", {"E is not identified"}}}}}}}},
              {"forecasts",
               {{{"name", "w96"},
                 {"flops", held_out_flops},
                 {"predicted", predicted},
                 {"interval", interval},
                 {"alternatives",
                  {{{"assumption", "E = 0"}, {"predicted", predicted * 0.974}},
                   {{"assumption", "E = 1.79"}, {"predicted", predicted * 1.02}}}}}}},
              {"held_out", Json::array()},
              {"band", band}};
  writer.journal.set_fact("ladder.forecast", fit);
  if (!has_outcome) return;
  const double measured = *writer.journal.run("ladder-w96-s1")->record->bits_per_byte();
  fit["held_out"] = {{{"name", "ladder-w96-s1"},
                      {"predicted", predicted},
                      {"interval", interval},
                      {"measured", measured},
                      {"relative_error", measured / predicted - 1},
                      {"covered", true}}};
  writer.journal.set_fact("fit", fit);
  write_gains(writer);
}

}  // namespace

void write_sample_study(const fs::path& folder, const SampleOptions& options) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  Writer writer{.folder = folder, .journal = Journal(folder / "journal.db")};
  writer.journal.add_event("started", "the study");
  write_baseline(writer);
  write_night(writer, options);
  study::LlmCall call;
  call.purpose = "proposal";
  call.model = "some-model";
  call.outcome = "ok";
  call.prompt_tokens = 3120;
  call.completion_tokens = 410;
  call.seconds = 6.2;
  writer.journal.add_llm_call(call);
  call.outcome = "slow";
  call.prompt_tokens.reset();
  call.completion_tokens.reset();
  writer.journal.add_llm_call(call);
  if (options.has_ladder) write_ladder(writer, !options.is_half_way);
}

}  // namespace windtunnel::report

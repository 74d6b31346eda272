#pragma once
// A ladder whose sizes are tuned and have a variant, and runs of it that follow a law of C with an
// optimal learning rate of each size.

#include <cmath>
#include <string>

#include "base/random.h"
#include "model/census.h"
#include "scaling/ladder.h"
#include "tests/support/scripted_runner.h"

namespace windtunnel::scaling {

inline study::RunConfig tuned_base() {
  return study::resolve_run_config(
      base::Json::parse(R"({"model": {"pattern": "*D*E", "width": 32, "context_tokens": 256,
                                      "vocabulary_size": 512,
                                      "layers": {"E": {"num_experts": 8, "num_active": 2}}},
                            "train": {"tokens_per_step": 2048,
                                      "optimizer": {"learning_rate": 0.03}}})"),
      "test");
}

inline LadderConfig tuned_ladder() {
  return base::from_json<LadderConfig>(base::Json::parse(R"({
        "learning_rates": {"tune": "fitted"},
        "variants": [{"name": "experts", "patch": {"model.pattern": "*E*E"},
                      "rungs": ["w24", "w44"]}],
        "rungs": [{"name": "w24", "patch": {"model.width": 24}},
                  {"name": "w32", "patch": {"model.width": 32}},
                  {"name": "w44", "patch": {"model.width": 44}},
                  {"name": "w56", "patch": {"model.width": 56}},
                  {"name": "w72", "patch": {"model.width": 72}},
                  {"name": "w96", "patch": {"model.width": 96}, "held_out": true}]})"),
                                       "ladder");
}

/// What is best at a size: 0.03 at the base's, falling with the root of N.
inline double best_rate(double parameters, double base_parameters) {
  return 0.03 * std::pow(parameters / base_parameters, -0.5);
}

/// Fills in how a run of such a ladder ends: a law of C, worse away from the best rate, with noise
/// that depends on the run alone.
inline void end_run(const study::RunRequest& request, study::RunRecord& record) {
  const auto census = model::census(request.config.model, 2048);
  const auto base = model::census(tuned_base().model, 2048);
  record.parameters_active = census.parameters_active;
  record.parameters_total = census.parameters_total;
  record.train.tokens = study::planned_steps(request.config) * 2048;
  record.train.epochs = static_cast<double>(*record.train.tokens) / 1e6;
  const double flops = 6 * static_cast<double>(census.parameters_active * *record.train.tokens);
  const double off = std::log(request.config.train.optimizer.learning_rate /
                              best_rate(static_cast<double>(census.parameters_active),
                                        static_cast<double>(base.parameters_active)));
  base::RandomStream noise(static_cast<uint64_t>(record.seed), request.id);
  record.evaluation.emplace().bits_per_byte =
      (1.5 + 1200 * std::pow(flops, -0.26)) * std::exp(0.03 * off * off + 0.001 * noise.normal());
}

}  // namespace windtunnel::scaling

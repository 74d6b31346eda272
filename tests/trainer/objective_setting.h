#pragma once
// Objectives on models small enough to take gradients of in double.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "corpus/batches.h"
#include "study/objective_kind.h"
#include "tests/support/tiny_corpus.h"
#include "trainer/objective.h"

namespace windtunnel::tests {

/// A setting at which each objective changes the training of a context of 12 tokens, by its name.
inline const std::map<std::string, base::Json>& objective_settings() {
  static const std::map<std::string, base::Json> settings = {
      {"byte_weights", {{"power", 1}}},
      {"future_bag", {{"weight", 2}, {"window", 3}}},
      {"future_hidden", {{"weight", 0.5}, {"ahead", 2}}},
      {"multi_token", {{"heads", 2}, {"weight", 0.5}, {"ramp_end", 0.5}}},
      {"number_tokens", {{"weight", 0.3}}},
      {"output_centering", {{"kind", "loss"}, {"weight", 5}}},
      {"row_weights", {{"strength", 3}}},
      {"selective", {{"keep", 0.4}}},
      {"sequence_warm_up", {{"start_fraction", 0.25}, {"share", 0.9}}},
      {"token_order", {{"weight", 0.5}, {"window", 3}}}};
  return settings;
}

/// Four rows of 12 tokens a step over bytes and begin-of-document, with these objectives on.
inline study::RunConfig objective_config(const std::vector<std::string>& names) {
  study::RunConfig config;
  config.model.pattern = "*D";
  config.model.width = 16;
  config.model.context_tokens = 12;
  config.model = model::resolve(config.model, byte_tokenizer().vocabulary_size());
  config.train.tokens_per_step = 48;
  base::Json document = base::to_json(config);
  for (const std::string& name : names) {
    base::Json& options = document["train"]["objectives"][name];
    options.merge_patch(objective_settings().at(name));
  }
  return study::resolve_run_config(document, "test");
}

/// A model and the objectives of its configuration, in double unless another type is given.
struct Training {
  explicit Training(study::RunConfig given, at::ScalarType type = at::kDouble)
      : config(std::move(given)), model(config.model, base::RandomStream(1, "weights")) {
    model.to(type);
    objectives = trainer::Objectives(setting());
  }

  trainer::ObjectiveSetting setting() {
    return {.config = config, .model = model, .tokenizer = byte_tokenizer};
  }

  study::RunConfig config;
  model::LanguageModel model;
  trainer::Objectives objectives;
};

/// Rows of text with words, numbers and begin-of-document.
inline corpus::Batch objective_batch(int64_t rows = 4, int64_t context_tokens = 12) {
  const corpus::Tokenizer tokenizer = byte_tokenizer();
  const std::string text = "at 7:15 the wind was 42 knots, at 9 only 3; the tunnel is 120 m long. ";
  const std::vector<int32_t> ids = tokenizer.encode(text);
  corpus::Batch batch{.tokens = {}, .rows = rows, .columns = context_tokens + 1, .index = 5};
  for (int64_t i = 0; i < rows * batch.columns; ++i) {
    const bool is_start = i % 17 == 4;
    batch.tokens.push_back(is_start ? tokenizer.begin_of_document()
                                    : ids[static_cast<size_t>(i) % ids.size()]);
  }
  return batch;
}

inline torch::Tensor tokens_of(const corpus::Batch& batch) {
  return torch::tensor(batch.tokens, at::kLong).view({batch.rows, batch.columns});
}

}  // namespace windtunnel::tests

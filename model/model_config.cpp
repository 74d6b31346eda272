#include "model/model_config.h"

#include <algorithm>

#include "model/layer_kind.h"
#include "model/pattern.h"

namespace windtunnel::model {

base::Json layers_schema() {
  base::Json properties = base::Json::object();
  for (const auto& kind : LayerKinds::instance().kinds()) {
    base::Json schema = kind.entry.options_schema();
    schema["description"] = kind.name + ": " + kind.summary;
    schema["x-source"] = kind.source;
    properties[std::string(1, kind.entry.letter)] = std::move(schema);
  }
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

namespace {

/// Puts a D at each of the first `stem` feed-forward positions.
/// Errors: ConfigError where there are fewer, or where the pattern has a longer stem already.
std::string with_dense_stem(std::string letters, int64_t stem) {
  if (stem == 0) return letters;
  std::vector<size_t> positions;  // of feed-forward layers
  for (size_t i = 0; i < letters.size(); ++i) {
    if (!layer_kind(letters[i]).entry.is_attention) positions.push_back(i);
  }
  const auto refuse = [&](const std::string& rule) {
    throw base::ConfigError("model", {{"model.dense_stem", std::to_string(stem), rule}});
  };
  const auto layers = static_cast<int64_t>(positions.size());
  if (stem > layers) {
    refuse("must be at most the number of feed-forward layers in model.pattern, " +
           std::to_string(layers));
  }
  const auto first_other =
      std::ranges::find_if(positions, [&](size_t position) { return letters[position] != 'D'; });
  if (const auto written = first_other - positions.begin(); stem < written) {
    refuse("model.pattern begins with " + std::to_string(written) +
           " dense layers already; shorten the stem there");
  }
  for (int64_t i = 0; i < stem; ++i) letters[positions[static_cast<size_t>(i)]] = 'D';
  return letters;
}

}  // namespace

ModelConfig resolve(const ModelConfig& config, int64_t corpus_vocabulary) {
  std::vector<base::Problem> problems =
      base::schema_problems(base::to_json(config), base::schema_of<ModelConfig>(), "model");
  ModelConfig resolved = config;
  std::string letters;
  try {
    letters = with_dense_stem(expand_pattern(config.pattern), config.dense_stem);
    resolved.pattern = canonical_pattern(letters);
    resolved.dense_stem = 0;
  } catch (const base::ConfigError& error) {
    problems.insert(problems.end(), error.problems.begin(), error.problems.end());
  }

  if (resolved.vocabulary_size == 0) {
    resolved.vocabulary_size = corpus_vocabulary;
  } else if (resolved.vocabulary_size < corpus_vocabulary) {
    problems.push_back({"model.vocabulary_size", std::to_string(resolved.vocabulary_size),
                        "must be at least the corpus's " + std::to_string(corpus_vocabulary) +
                            " tokens, or 0 to take it"});
  }

  // The rules of the kinds read options as numbers, so they wait until the schema holds.
  if (!problems.empty()) throw base::ConfigError("model", std::move(problems));
  resolved.layers = base::Json::object();
  for (const auto& kind : LayerKinds::instance().kinds()) {
    if (letters.find(kind.entry.letter) == std::string::npos) continue;
    const std::string key(1, kind.entry.letter);
    resolved.layers[key] = kind.entry.complete(config.layers.value(key, base::Json::object()));
  }
  for (const auto& kind : LayerKinds::instance().kinds()) {
    const std::string key(1, kind.entry.letter);
    if (!resolved.layers.contains(key)) continue;
    for (base::Problem& problem : kind.entry.problems(resolved.layers[key], resolved)) {
      problem.path = "model.layers." + key + "." + problem.path;
      problems.push_back(std::move(problem));
    }
  }
  if (!problems.empty()) throw base::ConfigError("model", std::move(problems));
  return resolved;
}

}  // namespace windtunnel::model

WINDTUNNEL_COMPILE_FIELDS(, windtunnel::model::ModelConfig)

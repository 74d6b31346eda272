#include "model/model_config.h"

#include "model/layer_kind.h"
#include "model/pattern.h"

namespace windtunnel::model {

base::Json layers_schema() {
  base::Json properties = base::Json::object();
  for (const auto& kind : LayerKinds::instance().kinds()) {
    base::Json schema = kind.entry.options_schema();
    schema["description"] = kind.name + ": " + kind.summary;
    properties[std::string(1, kind.entry.letter)] = std::move(schema);
  }
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

ModelConfig resolve(const ModelConfig& config, int64_t corpus_vocabulary) {
  std::vector<base::Problem> problems =
      base::schema_problems(base::to_json(config), base::schema_of<ModelConfig>(), "model");
  ModelConfig resolved = config;
  std::string letters;
  try {
    letters = expand_pattern(config.pattern);
    resolved.pattern = canonical_pattern(letters);
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

#pragma once
// The LibTorch-free half of a layer kind: letter, options, rules and counts. Its other half, the
// computation, is in model/layers/ and registered as a LayerFactory (layer.h).

#include <map>
#include <string>
#include <vector>

#include "base/registry.h"
#include "model/model_config.h"

namespace windtunnel::model {

/// What one layer holds and costs. FLOPs count a multiply-add as two and cover the forward pass.
struct LayerCensus {
  int64_t parameters_total = 0;
  /// Parameters a single token passes through (K of E experts).
  int64_t parameters_active = 0;
  /// Forward FLOPs per token by component, e.g. {"attention.projections": ..., "experts": ...}.
  /// Attention scores count the keys really visited: causal and windowed, averaged over a row.
  std::map<std::string, double> forward_flops_per_token;
  /// Of the active parameters, those in matrices (the ones a token multiplies).
  int64_t parameters_active_matrices = 0;
  /// Values kept for the backward pass, per token: the memory estimate counts 4 bytes each in fp32.
  double saved_values_per_token = 0;
};

/// Registered under its long name ("attention", "dense", "experts"); one file each in model/kinds/.
struct LayerKind {
  char letter;
  bool is_attention = false;
  /// JSON Schema of the options. A function, because it may list the kinds of another registry
  /// (routers), which is complete only once main has begun; base::Kind::options stays empty here.
  base::Json (*options_schema)();
  /// All options with their defaults, laid over by those given.
  base::Json (*complete)(const base::Json& given);
  /// Rules beyond the schema; paths are relative to the options, e.g. "head_size". May be empty.
  std::vector<base::Problem> (*problems)(const base::Json& options, const ModelConfig& model);
  /// `attention_index` counts attention layers from 0 (window patterns), of `attention_layers`.
  LayerCensus (*census)(const base::Json& options, const ModelConfig& model, int attention_index,
                        int attention_layers);
};

using LayerKinds = base::Registry<LayerKind>;

/// Errors: Error that names the legal letters.
const base::Kind<LayerKind>& layer_kind(char letter);

/// The options of the kind `letter` in a resolved model.
template <class Options>
Options layer_options(const ModelConfig& model, char letter) {
  return base::from_trusted_json<Options>(model.layers.at(std::string(1, letter)));
}

}  // namespace windtunnel::model

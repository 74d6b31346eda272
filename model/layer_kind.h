#pragma once
// The LibTorch-free half of a layer kind: letter, options, rules and counts. Its other half, the
// computation, is in model/layers/ and registered as a LayerFactory (layer.h).

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"
#include "model/model_config.h"
#include "model/parameter_role.h"

namespace windtunnel::model {

/// Where a layer stands: at `position` of the pattern, and as number `ordinal`, from 0, of the
/// `count` attention positions or of the `count` feed-forward positions.
struct LayerPlace {
  int position = 0;
  int ordinal = 0;
  int count = 1;
  bool is_last() const { return ordinal + 1 == count; }
};

/// The places of all letters of an expanded pattern, in order.
std::vector<LayerPlace> layer_places(std::string_view letters);

struct ParameterCount {
  int64_t total = 0;
  /// Those a single token passes through (K of E experts).
  int64_t active = 0;
};

/// What one layer holds and costs. FLOPs count a multiply-add as two and cover the forward pass.
struct LayerCensus {
  std::map<ParameterRole, ParameterCount> parameters;
  /// Forward FLOPs per token by component, e.g. {"attention.projections": ..., "experts": ...}.
  /// Attention scores count the keys really visited: causal and windowed, averaged over a row.
  std::map<std::string, double> forward_flops_per_token;
  /// Query features times window, for attention: what the source's count of FLOPs multiplies by
  /// 12, causality left out.
  int64_t attention_reach = 0;
  /// Values kept for the backward pass, per token: the memory estimate counts 4 bytes each in fp32.
  double saved_values_per_token = 0;

  void add(ParameterRole role, int64_t total, std::optional<int64_t> active = std::nullopt);
  ParameterCount sum() const;
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
  LayerCensus (*census)(const base::Json& options, const ModelConfig& model,
                        const LayerPlace& place);
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

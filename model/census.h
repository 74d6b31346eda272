#pragma once
// Counts without building: parameters, FLOPs per token, memory. Tests hold it against what is
// allocated.

#include <map>
#include <string>

#include "model/layer_kind.h"
#include "model/model_config.h"

namespace windtunnel::model {

struct Census {
  int64_t parameters_total = 0;
  /// N: everything but the experts a token is not sent to; both vocabulary tables included, as the
  /// published counts of the reference sizes do.
  int64_t parameters_active = 0;
  std::map<ParameterRole, ParameterCount> parameters_by_role;
  /// Totals by layer kind, embedding and head.
  std::map<std::string, int64_t> parameters_by_component;

  // FLOPs of training per token, forward and backward (3 x forward), under three conventions that
  // must not be mixed.
  /// Exact: causal, windowed, K of E experts, head.
  double flops_per_token_exact = 0;
  /// As the fixed-wall study counts: 6 x the active parameters in matrices without the embedding,
  /// and 12 x heads x head size x window for each attention layer, without causality.
  double flops_per_token_source = 0;
  /// 6 x parameters_active: the convention of C = 6ND.
  double flops_per_token_six_n = 0;
  /// Of the exact ones.
  std::map<std::string, double> flops_per_token_by_component;

  // Estimates for one training step with `tokens_per_micro_batch` tokens in flight, fp32.
  double weights_bytes = 0;
  double gradients_bytes = 0;
  double optimizer_bytes = 0;
  /// Kept by the forward pass for the backward pass.
  double activations_bytes = 0;
  /// Weight matrices put side by side for one product, kept with the activations.
  double stacked_bytes = 0;
  /// Updates that the optimizer of matrices computes, before and after their orthogonalisation.
  double updates_bytes = 0;

  /// What training adds to the memory of a process, or of a device, at its worst moment: when the
  /// forward pass ends, or in the optimizer. The libraries of the process are not in it (about 140
  /// MB on a CPU). Tests hold it to within a quarter of the memory measured.
  double peak_bytes() const;
};

/// `config` must be resolved. `muon`: whether Muon updates the weight matrices, else AdamW.
/// Cost: microseconds.
Census census(const ModelConfig& config, int64_t tokens_per_micro_batch, bool muon = true);

/// {"parameters": {active, total, by_role, by_component}, "flops_per_token": {exact, source, six_n,
/// by_component}, "memory_bytes": {weights, gradients, optimizer, activations, stacked, updates,
/// peak}}.
base::Json to_json(const Census& census);

}  // namespace windtunnel::model

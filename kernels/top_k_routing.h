#pragma once
// From router logits to the experts each token visits, their weights, the loads and the losses.

#include <torch/types.h>

namespace windtunnel::kernels {

// N tokens, E experts, K visited ones.
enum class RoutingScores {
  /// p = softmax over experts of the logits; the load-balance loss is on p.
  kSoftmax,
  /// a = sigmoid of each logit; the load-balance loss is on a / sum of a.
  kSigmoid
};

struct RoutingLosses {
  /// Weight of E * sum over experts of (share of assignments) * (mean probability).
  double load_balance = 0;
  /// Weight of the mean squared log-sum-exp of the logits.
  double z = 0;
};

struct TopK {
  /// int64, different within a row, best first, ties to the lower number.
  torch::Tensor experts_NK;
  /// Scores of the selected over their sum; differentiable.
  torch::Tensor weights_NK;
  /// Assignments per expert, fp32.
  torch::Tensor load_E;
  /// Undefined without `losses`; differentiable.
  torch::Tensor loss;
  /// Sums over the tokens, in double: [0] squared log-sum-exp of the logits; [1] affinities below
  /// 0.01 or above 0.99, where a sigmoid hardly has a gradient (0 for kSoftmax).
  torch::Tensor sums_2;
};

/// Selects the K largest of scores + bias; the bias (undefined: none) enters nothing else.
///
/// Shapes: logits_NE in fp32 or double, bias_E.
/// Source: Fedus et al. 2021, arXiv:2101.03961, eq. (4), with shares of N K assignments (load
///         balance); Zoph et al. 2022, arXiv:2202.08906, eq. (5) (z).
TopK top_k_routing(const torch::Tensor& logits_NE, const torch::Tensor& bias_E, int64_t K,
                   RoutingScores scores, const std::optional<RoutingLosses>& losses);
TopK top_k_routing_reference(const torch::Tensor& logits_NE, const torch::Tensor& bias_E, int64_t K,
                             RoutingScores scores, const std::optional<RoutingLosses>& losses);

/// 1 when even, E when all tokens insist on one expert; the share of load is taken as given.
torch::Tensor load_balance_loss(const torch::Tensor& probabilities_NE, const torch::Tensor& load_E);
torch::Tensor z_loss(const torch::Tensor& logits_NE);

}  // namespace windtunnel::kernels

#pragma once
// The tokens that come next at each position of a row, each counted once: what token-order
// prediction ranks and the future bag holds.

#include <torch/types.h>

#include "trainer/objective.h"

namespace windtunnel::trainer {

// B rows, T tokens, W tokens of the window.
struct UpcomingTokens {
  /// int64; [b, t, w] is the target at position t + w of the row, 0 past its end.
  torch::Tensor tokens_BTW;
  /// Whether the token is in the row and does not occur at a smaller w: the same token further
  /// ahead is no token of its own.
  torch::Tensor is_first_BTW;
};

/// Cost: one sort of each row, and two values per position and place of the window.
UpcomingTokens upcoming_tokens(const torch::Tensor& targets_BT, int64_t window);

/// An objective with an unembedding of its own that scores the upcoming tokens of each position.
class UpcomingTokensObjective : public Objective {
 public:
  UpcomingTokensObjective(const ObjectiveSetting& setting, int64_t window, double weight);
  torch::Tensor extra_loss(const StepPart& part) const final;

 protected:
  /// One loss for each position, from its scores in fp32 or wider.
  virtual torch::Tensor loss_BT(const torch::Tensor& scores_BTV,
                                const UpcomingTokens& upcoming) const = 0;

 private:
  int64_t window_;
  double weight_;
  torch::Tensor head_VD_;
};

}  // namespace windtunnel::trainer

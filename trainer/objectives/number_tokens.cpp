// Number-token loss: where the target is a number token (ASCII digits only; its value is the number
// they write), the predicted distribution over the number tokens is held against its value.
//
//   p = softmax of the logits of the number tokens, v their values, y the target's value
//   wasserstein   loss_t = sum_j p_j |v_j - y|
//   squared       loss_t = (sum_j p_j v_j - y)^2
//
// The mean is over the number targets of the whole step; a step without any has the loss 0. Values
// are not scaled: with tokens of two digits they reach 99, and the weight should be smaller than
// with single digits.
// A vocabulary of byte-level BPE always has the ten digits.
// Source: Zausinger et al. 2025, arXiv:2411.02083 (NTL-WAS and NTL-MSE).
// Cost:   a softmax over the number tokens per token.
//
// B rows, T tokens, V vocabulary, J number tokens.

#include <algorithm>

#include "trainer/objective.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

/// Longer runs of digits have no place in a vocabulary whose text is split into small groups.
constexpr size_t kMaxDigits = 9;

bool is_number(std::string_view bytes) {
  return !bytes.empty() && bytes.size() <= kMaxDigits &&
         std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class NumberTokens final : public Objective {
 public:
  explicit NumberTokens(const ObjectiveSetting& setting)
      : Objective(setting), options_(setting.config.train.objectives.number_tokens) {
    const corpus::Tokenizer tokenizer = setting.tokenizer();
    std::vector<int64_t> ids;
    std::vector<double> values;
    for (int32_t id = 0; id < static_cast<int32_t>(tokenizer.vocabulary_size()); ++id) {
      const std::string_view bytes = tokenizer.token_bytes(id);
      if (!is_number(bytes)) continue;
      ids.push_back(id);
      values.push_back(std::stod(std::string(bytes)));
    }
    const auto type = setting.model.head_VD().options().requires_grad(false);
    ids_J_ = at::tensor(ids, at::kLong).to(type.device());
    values_J_ = at::tensor(values, at::kDouble).to(type);
    is_number_V_ = at::zeros({setting.config.model.vocabulary_size}, type);
    is_number_V_.index_fill_(0, ids_J_, 1);
    value_V_ = at::zeros_like(is_number_V_).index_put_({ids_J_}, values_J_);
  }

  Tensor extra_loss(const StepPart& part) const override {
    const Tensor chosen_BTJ = part.logits_BTV.index_select(-1, ids_J_);
    const Tensor shares_BTJ = chosen_BTJ.to(values_J_.scalar_type()).softmax(-1);
    const Tensor wanted_BT = value_V_.index({part.targets_BT});
    const Tensor loss_BT = options_.distance == "squared"
                               ? (shares_BTJ.matmul(values_J_) - wanted_BT).square()
                               : (shares_BTJ * (values_J_ - wanted_BT.unsqueeze(-1)).abs()).sum(-1);
    const Tensor numbers = is_number_V_.index({part.step.targets_BT}).sum().clamp_min(1);
    return (loss_BT * is_number_V_.index({part.targets_BT})).sum() / numbers * options_.weight;
  }

 private:
  study::NumberTokensOptions options_;
  /// int64; the number tokens.
  Tensor ids_J_;
  Tensor values_J_, value_V_, is_number_V_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "number_tokens",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<NumberTokens>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer

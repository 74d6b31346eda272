// Byte-weighted cross-entropy: w = bytes^power.
//
// bytes are those of the target alone; special tokens have none and so, above power 0, the weight
// 0. Power 1 makes sum(w nats) / sum(w) a loss per byte in which long tokens count for what they
// cover. Power 0 is plain cross-entropy, special tokens included.
// Source: an idea of the fixed-wall study; the validation metric is per byte.
// Cost:   a lookup per token.
//
// B rows, T tokens, V vocabulary.

#include "trainer/objective.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

class ByteWeights final : public Objective {
 public:
  explicit ByteWeights(const ObjectiveSetting& setting) : Objective(setting) {
    const corpus::Tokenizer tokenizer = setting.tokenizer();
    std::vector<double> bytes(static_cast<size_t>(setting.config.model.vocabulary_size), 0);
    for (size_t id = 0; id < static_cast<size_t>(tokenizer.vocabulary_size()); ++id) {
      bytes[id] = static_cast<double>(tokenizer.token_bytes(static_cast<int32_t>(id)).size());
    }
    weights_V_ = at::tensor(bytes, at::kDouble)
                     .pow(setting.config.train.objectives.byte_weights.power)
                     .to(setting.model.head_VD().options().requires_grad(false));
  }

  Tensor token_weights_BT(const StepBatch& step) const override {
    return weights_V_.index({step.targets_BT});
  }

 private:
  Tensor weights_V_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "byte_weights",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<ByteWeights>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer

#include "kernels/cross_entropy.h"

#include <torch/autograd.h>

#include "kernels/fast_path.h"
#include "kernels/loops/cross_entropy.h"

namespace windtunnel::kernels {
namespace {

struct CrossEntropy : torch::autograd::Function<CrossEntropy> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& given_logits,
                               const torch::Tensor& given_targets) {
    const auto logits = given_logits.contiguous();
    const auto targets = given_targets.contiguous();
    const int64_t V = logits.size(-1), rows = targets.numel();
    const auto log_sum = torch::empty(targets.sizes(), logits.options());
    const auto nats = torch::empty_like(log_sum);
    at::parallel_for(0, rows, rows_per_thread(V), [&](int64_t begin, int64_t end) {
      loops::cross_entropy_forward(logits.const_data_ptr<float>() + begin * V,
                                   targets.const_data_ptr<int64_t>() + begin, end - begin, V,
                                   log_sum.mutable_data_ptr<float>() + begin,
                                   nats.mutable_data_ptr<float>() + begin);
    });
    context->save_for_backward({logits, targets, log_sum});
    return nats;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &logits = saved[0], &targets = saved[1], &log_sum = saved[2];
    const auto grad_nats = grads[0].contiguous();
    const auto grad_logits = torch::empty_like(logits);
    const int64_t V = logits.size(-1);
    at::parallel_for(0, targets.numel(), rows_per_thread(V), [&](int64_t begin, int64_t end) {
      loops::cross_entropy_backward(
          logits.const_data_ptr<float>() + begin * V, targets.const_data_ptr<int64_t>() + begin,
          log_sum.const_data_ptr<float>() + begin, grad_nats.const_data_ptr<float>() + begin,
          end - begin, V, grad_logits.mutable_data_ptr<float>() + begin * V);
    });
    return {grad_logits, {}};
  }
};

}  // namespace

torch::Tensor cross_entropy_reference(const torch::Tensor& logits, const torch::Tensor& targets) {
  const auto wide = logits.scalar_type() == torch::kDouble ? logits : logits.to(torch::kFloat32);
  return wide.logsumexp(-1) - wide.gather(-1, targets.unsqueeze(-1)).squeeze(-1);
}

torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets) {
  TORCH_CHECK(
      targets.scalar_type() == torch::kInt64 && logits.numel() == targets.numel() * logits.size(-1),
      "cross_entropy needs one int64 target for each row of logits");
  return takes_fast_path(logits) ? CrossEntropy::apply(logits, targets)
                                 : cross_entropy_reference(logits, targets);
}

}  // namespace windtunnel::kernels

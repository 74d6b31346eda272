#include "kernels/expert_feed_forward.h"

#include <torch/autograd.h>

#include "kernels/fast_path.h"
#include "kernels/loops/dispatch.h"
#include "kernels/loops/swiglu.h"
#include "kernels/swiglu.h"

namespace windtunnel::kernels {
namespace {

/// Rows of x times the transposed matrix of their expert; rows of expert e end at ends_E[e].
torch::Tensor product_per_expert(const torch::Tensor& x, const torch::Tensor& matrices_EOI,
                                 const torch::Tensor& ends_E) {
  const auto matrices = matrices_EOI.to(x.scalar_type()).transpose(1, 2);
  if (x.is_cuda() && x.scalar_type() == torch::kBFloat16) {
    return at::_grouped_mm(x, matrices, ends_E);
  }
  const auto ends = ends_E.to(torch::kCPU, torch::kInt64);
  std::vector<torch::Tensor> products;
  int64_t begin = 0;
  for (int64_t e = 0; e < ends.size(0); ++e) {
    const int64_t end = ends.data_ptr<int64_t>()[e];
    if (end > begin) products.push_back(torch::mm(x.slice(0, begin, end), matrices[e]));
    begin = end;
  }
  return torch::cat(products);
}

/// Assignments sorted by expert; see loops::sort_by_expert.
struct Dispatch {
  torch::Tensor place, token, ends;
};

Dispatch sort_assignments(const torch::Tensor& experts_NK, int64_t num_experts) {
  const auto experts = experts_NK.contiguous();
  const auto options = torch::TensorOptions(torch::kInt32);
  Dispatch dispatch{torch::empty({experts.numel()}, options),
                    torch::empty({experts.numel()}, options),
                    torch::empty({num_experts}, torch::TensorOptions(torch::kInt64))};
  const bool legal = loops::sort_by_expert(
      experts.const_data_ptr<int64_t>(), experts.numel(), experts.size(1), num_experts,
      dispatch.place.mutable_data_ptr<int32_t>(), dispatch.token.mutable_data_ptr<int32_t>(),
      dispatch.ends.mutable_data_ptr<int64_t>());
  TORCH_CHECK(legal, "expert_feed_forward: an assignment is outside the ", num_experts, " experts");
  return dispatch;
}

torch::Tensor gather(const torch::Tensor& x_ND, const torch::Tensor& token) {
  const int64_t D = x_ND.size(1);
  const auto rows = torch::empty({token.numel(), D}, x_ND.options());
  at::parallel_for(0, token.numel(), rows_per_thread(D), [&](int64_t begin, int64_t end) {
    loops::gather_rows(x_ND.const_data_ptr<float>(), token.const_data_ptr<int32_t>(), begin, end, D,
                       rows.mutable_data_ptr<float>());
  });
  return rows;
}

torch::Tensor combine(const torch::Tensor& rows, const torch::Tensor& place, int64_t N) {
  const int64_t D = rows.size(1), K = place.numel() / N;
  const auto y_ND = torch::empty({N, D}, rows.options());
  at::parallel_for(0, N, rows_per_thread(D), [&](int64_t begin, int64_t end) {
    loops::combine_rows(rows.const_data_ptr<float>(), place.const_data_ptr<int32_t>(), begin, end,
                        K, D, y_ND.mutable_data_ptr<float>());
  });
  return y_ND;
}

/// fn(expert, first row, rows) for each expert that has any.
template <class Function>
void for_each_expert(const torch::Tensor& ends, const Function& function) {
  const int64_t* end = ends.const_data_ptr<int64_t>();
  for (int64_t e = 0, begin = 0; e < ends.numel(); begin = end[e++]) {
    if (end[e] > begin) function(e, begin, end[e] - begin);
  }
}

/// The whole layer as one operation: the weight of an assignment is folded into the hidden units,
/// so that the combination is a plain sum and its gradient a plain gather.
struct ExpertFeedForward : torch::autograd::Function<ExpertFeedForward> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& given_ND, const torch::Tensor& gate_EHD,
                               const torch::Tensor& up_EHD, const torch::Tensor& down_EDH,
                               const torch::Tensor& experts_NK, const torch::Tensor& weights_NK) {
    const auto x_ND = given_ND.contiguous();
    const int64_t E = gate_EHD.size(0), H = gate_EHD.size(1), D = x_ND.size(1);
    const auto [place, token, ends] = sort_assignments(experts_NK, E);
    const auto gate_up_EFD = torch::cat({gate_EHD, up_EHD}, 1);
    const auto x = gather(x_ND, token);
    const int64_t rows = x.size(0);
    const auto weights = torch::empty({rows}, x.options());
    const auto given_weights = weights_NK.contiguous();
    for (int64_t i = 0; i < rows; ++i) {
      weights.mutable_data_ptr<float>()[place.const_data_ptr<int32_t>()[i]] =
          given_weights.const_data_ptr<float>()[i];
    }
    auto gate_up = torch::empty({rows, 2 * H}, x.options());
    for_each_expert(ends, [&](int64_t e, int64_t first, int64_t count) {
      auto out = gate_up.narrow(0, first, count);
      at::mm_out(out, x.narrow(0, first, count), gate_up_EFD[e].t());
    });
    const auto hidden = torch::empty({rows, H}, x.options());
    at::parallel_for(0, rows, rows_per_thread(2 * H), [&](int64_t begin, int64_t end) {
      loops::swiglu_forward(gate_up.const_data_ptr<float>() + begin * 2 * H,
                            weights.const_data_ptr<float>() + begin, end - begin, H,
                            hidden.mutable_data_ptr<float>() + begin * H);
    });
    auto y = torch::empty({rows, D}, x.options());
    for_each_expert(ends, [&](int64_t e, int64_t first, int64_t count) {
      auto out = y.narrow(0, first, count);
      at::mm_out(out, hidden.narrow(0, first, count), down_EDH[e].t());
    });
    context->save_for_backward(
        {x, gate_up, hidden, weights, gate_up_EFD, down_EDH, place, token, ends});
    return combine(y, place, x_ND.size(0));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &gate_up = saved[1], &hidden = saved[2], &weights = saved[3];
    const auto &gate_up_EFD = saved[4], &down_EDH = saved[5];
    const auto &place = saved[6], &token = saved[7], &ends = saved[8];
    const auto grad_ND = grads[0].contiguous();
    const int64_t rows = x.size(0), H = hidden.size(1), N = grad_ND.size(0);
    const auto grad_y = gather(grad_ND, token);
    auto grad_hidden = torch::empty_like(hidden);
    // Experts that nobody visited keep gradients of zero.
    auto grad_down_EDH = torch::zeros_like(down_EDH);
    for_each_expert(ends, [&](int64_t e, int64_t first, int64_t count) {
      const auto grad = grad_y.narrow(0, first, count);
      auto out = grad_hidden.narrow(0, first, count);
      at::mm_out(out, grad, down_EDH[e]);
      auto grad_down = grad_down_EDH[e];
      at::mm_out(grad_down, grad.t(), hidden.narrow(0, first, count));
    });
    const auto grad_gate_up = torch::empty_like(gate_up);
    const auto grad_weights = torch::empty_like(weights);
    at::parallel_for(0, rows, rows_per_thread(2 * H), [&](int64_t begin, int64_t end) {
      loops::swiglu_backward(gate_up.const_data_ptr<float>() + begin * 2 * H,
                             weights.const_data_ptr<float>() + begin,
                             grad_hidden.const_data_ptr<float>() + begin * H, end - begin, H,
                             grad_gate_up.mutable_data_ptr<float>() + begin * 2 * H,
                             grad_weights.mutable_data_ptr<float>() + begin);
    });
    auto grad_x = torch::empty_like(x);
    auto grad_gate_up_EFD = torch::zeros_like(gate_up_EFD);
    for_each_expert(ends, [&](int64_t e, int64_t first, int64_t count) {
      const auto grad = grad_gate_up.narrow(0, first, count);
      auto out = grad_x.narrow(0, first, count);
      at::mm_out(out, grad, gate_up_EFD[e]);
      auto grad_matrix = grad_gate_up_EFD[e];
      at::mm_out(grad_matrix, grad.t(), x.narrow(0, first, count));
    });
    const auto grad_weights_NK = torch::empty({N, rows / N}, weights.options());
    for (int64_t i = 0; i < rows; ++i) {
      grad_weights_NK.mutable_data_ptr<float>()[i] =
          grad_weights.const_data_ptr<float>()[place.const_data_ptr<int32_t>()[i]];
    }
    return {combine(grad_x, place, N),
            grad_gate_up_EFD.narrow(1, 0, H).contiguous(),
            grad_gate_up_EFD.narrow(1, H, H).contiguous(),
            grad_down_EDH,
            {},
            grad_weights_NK};
  }
};

}  // namespace

torch::Tensor expert_load(const torch::Tensor& experts_NK, int64_t num_experts) {
  const auto options = torch::TensorOptions(experts_NK.device()).dtype(torch::kFloat32);
  const auto flat = experts_NK.flatten();
  return torch::zeros({num_experts}, options)
      .scatter_add(0, flat, torch::ones({flat.size(0)}, options));
}

torch::Tensor expert_feed_forward_reference(const torch::Tensor& x_ND,
                                            const torch::Tensor& gate_EHD,
                                            const torch::Tensor& up_EHD,
                                            const torch::Tensor& down_EDH,
                                            const torch::Tensor& experts_NK,
                                            const torch::Tensor& weights_NK) {
  const auto order = experts_NK.flatten().argsort(/*stable=*/true, /*dim=*/0);
  const auto token = torch::floor_divide(order, experts_NK.size(1));
  const auto ends = expert_load(experts_NK, gate_EHD.size(0)).cumsum(0).to(torch::kInt32);
  const auto x = x_ND.index_select(0, token);
  const auto gate_up = product_per_expert(x, torch::cat({gate_EHD, up_EHD}, 1), ends);
  const auto y = product_per_expert(swiglu_reference(gate_up), down_EDH, ends);
  const auto weights = weights_NK.flatten().index_select(0, order).unsqueeze(1);
  return torch::zeros_like(x_ND).index_add(0, token, y * weights.to(y.scalar_type()));
}

torch::Tensor expert_feed_forward(const torch::Tensor& x_ND, const torch::Tensor& gate_EHD,
                                  const torch::Tensor& up_EHD, const torch::Tensor& down_EDH,
                                  const torch::Tensor& experts_NK,
                                  const torch::Tensor& weights_NK) {
  if (takes_fast_path(x_ND) && takes_fast_path(gate_EHD) && takes_fast_path(weights_NK)) {
    return ExpertFeedForward::apply(x_ND, gate_EHD, up_EHD, down_EDH, experts_NK, weights_NK);
  }
  return expert_feed_forward_reference(x_ND, gate_EHD, up_EHD, down_EDH, experts_NK, weights_NK);
}

}  // namespace windtunnel::kernels

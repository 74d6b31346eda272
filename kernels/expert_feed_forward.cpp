#include "kernels/expert_feed_forward.h"

#include <torch/autograd.h>

#include "kernels/fast_path.h"
#include "kernels/loops/dispatch.h"
#include "kernels/loops/swiglu.h"
#include "kernels/product.h"
#include "kernels/swiglu.h"

namespace windtunnel::kernels {
namespace {

/// The feed-forward of each expert on its rows: [M, D] -> [M, D], rows of expert e ending at
/// ends_E[e].
using RowsOfExperts = torch::Tensor (*)(const torch::Tensor& x_MD, const torch::Tensor& gate_up,
                                        const torch::Tensor& down, const torch::Tensor& ends_E);

/// On the host, which knows the loads.
torch::Tensor expert_by_expert(const torch::Tensor& x_MD, const torch::Tensor& gate_up,
                               const torch::Tensor& down, const torch::Tensor& ends_E) {
  const auto ends = ends_E.contiguous();
  std::vector<torch::Tensor> results;
  int64_t begin = 0;
  for (int64_t e = 0; e < ends.size(0); ++e) {
    const int64_t end = ends.const_data_ptr<int64_t>()[e];
    const auto rows = x_MD.slice(0, begin, end);
    if (end > begin) {
      const auto hidden = swiglu_reference(torch::mm(rows, gate_up[e].t()));
      results.push_back(torch::mm(hidden, down[e].t()));
    }
    begin = end;
  }
  return torch::cat(results);
}

/// In bfloat16 on a device that has it: products whose group ends are read by the device.
torch::Tensor grouped(const torch::Tensor& x_MD, const torch::Tensor& gate_up,
                      const torch::Tensor& down, const torch::Tensor& ends_E) {
  const auto ends = ends_E.to(torch::kInt32);
  const auto hidden = swiglu_reference(at::_grouped_mm(x_MD, gate_up.transpose(1, 2), ends));
  return at::_grouped_mm(hidden, down.transpose(1, 2), ends);
}

// Blocks an expert's even share of the rows is cut into: the padding is half a block an expert,
// an eighth of the rows at most on average, and a matrix is copied some five times.
constexpr int64_t kBlocksPerExpert = 4;

/// As products of blocks of one size, each of one expert, so that no shape depends on the loads.
/// The last block of an expert is filled up with zeros.
torch::Tensor by_blocks(const torch::Tensor& x_MD, const torch::Tensor& gate_up,
                        const torch::Tensor& down, const torch::Tensor& ends_E) {
  const int64_t M = x_MD.size(0), D = x_MD.size(1), E = gate_up.size(0);
  const int64_t rows = (M + kBlocksPerExpert * E - 1) / (kBlocksPerExpert * E);
  const int64_t blocks = (M + rows - 1) / rows + E;  // sum of ceil(load / rows) at most
  const auto load_E = torch::diff(ends_E, 1, 0, torch::zeros_like(ends_E.narrow(0, 0, 1)));
  const auto blocks_E = torch::floor_divide(load_E + (rows - 1), rows);
  const auto last_block_E = blocks_E.cumsum(0);
  const auto indices = [&](int64_t count) { return torch::arange(count, ends_E.options()); };
  // Blocks beyond the last are empty, whoever's they are.
  const auto expert_of_block =
      torch::searchsorted(last_block_E, indices(blocks), false, /*right=*/true).clamp_max(E - 1);
  const auto expert_of_row = torch::searchsorted(ends_E, indices(M), false, /*right=*/true);
  const auto shift_E = (last_block_E - blocks_E) * rows - (ends_E - load_E);
  const auto place = indices(M) + shift_E.index_select(0, expert_of_row);

  const auto padded = torch::zeros({blocks * rows, D}, x_MD.options()).index_copy(0, place, x_MD);
  const auto product = [&](const torch::Tensor& in, const torch::Tensor& matrices) {
    return torch::bmm(in, matrices.index_select(0, expert_of_block).transpose(1, 2));
  };
  const auto hidden = swiglu_reference(product(padded.view({blocks, rows, D}), gate_up));
  return product(hidden, down).view({blocks * rows, D}).index_select(0, place);
}

/// Only the host may look at loads without making a device wait.
RowsOfExperts rows_of_experts(const torch::Tensor& x) {
  if (x.is_cpu()) return expert_by_expert;
  return x.scalar_type() == torch::kBFloat16 ? grouped : by_blocks;
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

torch::Tensor combine(const float* residual, const torch::Tensor& rows, const torch::Tensor& place,
                      int64_t N) {
  const int64_t D = rows.size(1), K = place.numel() / N;
  const auto y_ND = torch::empty({N, D}, rows.options());
  at::parallel_for(0, N, rows_per_thread(D), [&](int64_t begin, int64_t end) {
    loops::combine_rows(residual, rows.const_data_ptr<float>(), place.const_data_ptr<int32_t>(),
                        begin, end, K, D, y_ND.mutable_data_ptr<float>());
  });
  return y_ND;
}

/// fn(expert, first row, rows) for each expert, several at a time.
template <class Function>
void for_each_expert(const torch::Tensor& ends, const Function& function) {
  const int64_t* end = ends.const_data_ptr<int64_t>();
  at::parallel_for(0, ends.numel(), 1, [&](int64_t from, int64_t to) {
    for (int64_t e = from; e < to; ++e) {
      const int64_t first = e == 0 ? 0 : end[e - 1];
      function(e, first, end[e] - first);
    }
  });
}

/// [E, 2 H, D] with the gates above the ups, so that one product serves both.
torch::Tensor stack(const torch::Tensor& gate_EHD, const torch::Tensor& up_EHD) {
  return torch::cat({gate_EHD, up_EHD}, 1);
}

/// The whole layer as one operation. The weight of an assignment is folded into its hidden units,
/// so that the combination is a plain sum and its gradient a plain gather.
struct ExpertFeedForward : torch::autograd::Function<ExpertFeedForward> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& given_residual, const torch::Tensor& given_x,
                               const torch::Tensor& gate_EHD, const torch::Tensor& up_EHD,
                               const torch::Tensor& given_down, const torch::Tensor& experts_NK,
                               const torch::Tensor& given_weights) {
    const auto residual = given_residual.contiguous();
    const auto stacked = stack(gate_EHD, up_EHD), down = given_down.contiguous();
    const int64_t E = gate_EHD.size(0), H = gate_EHD.size(1), D = given_x.size(1);
    const auto [place, token, ends] = sort_assignments(experts_NK, E);
    const auto x = gather(given_x.contiguous(), token);
    const int64_t rows = x.size(0);
    const auto weights = torch::empty({rows}, x.options());
    loops::scatter(given_weights.contiguous().const_data_ptr<float>(),
                   place.const_data_ptr<int32_t>(), rows, weights.mutable_data_ptr<float>());
    const auto gate_up = torch::empty({rows, 2 * H}, x.options());
    const auto hidden = torch::empty({rows, H}, x.options());
    const auto y = torch::empty({rows, D}, x.options());
    const float* in = x.const_data_ptr<float>();
    float* up = gate_up.mutable_data_ptr<float>();
    float* middle = hidden.mutable_data_ptr<float>();
    float* out = y.mutable_data_ptr<float>();
    for_each_expert(ends, [&](int64_t e, int64_t first, int64_t count) {
      product_nt(count, 2 * H, D, {in + first * D, D},
                 {stacked.const_data_ptr<float>() + e * 2 * H * D, D}, up + first * 2 * H, 2 * H);
      loops::swiglu_forward(up + first * 2 * H, weights.const_data_ptr<float>() + first, count, H,
                            middle + first * H);
      product_nt(count, D, H, {middle + first * H, H},
                 {down.const_data_ptr<float>() + e * D * H, H}, out + first * D, D);
    });
    context->save_for_backward({x, gate_up, hidden, weights, stacked, down, place, token, ends});
    return combine(residual.const_data_ptr<float>(), y, place, residual.size(0));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &gate_up = saved[1], &hidden = saved[2], &weights = saved[3];
    const auto &stacked = saved[4], &down = saved[5];
    const auto &place = saved[6], &token = saved[7], &ends = saved[8];
    const auto grad_ND = grads[0].contiguous();
    const int64_t rows = x.size(0), D = x.size(1), H = hidden.size(1), N = grad_ND.size(0);
    const auto grad_y = gather(grad_ND, token);
    const auto grad_hidden = torch::empty_like(hidden), grad_gate_up = torch::empty_like(gate_up);
    const auto grad_weights = torch::empty_like(weights), grad_x = torch::empty_like(x);
    const auto grad_stacked = torch::empty_like(stacked), grad_down = torch::empty_like(down);
    const float* out = grad_y.const_data_ptr<float>();
    float* middle = grad_hidden.mutable_data_ptr<float>();
    float* up = grad_gate_up.mutable_data_ptr<float>();
    for_each_expert(ends, [&](int64_t e, int64_t first, int64_t count) {
      float* matrices_down = grad_down.mutable_data_ptr<float>() + e * D * H;
      float* matrices_up = grad_stacked.mutable_data_ptr<float>() + e * 2 * H * D;
      if (count == 0) {
        std::fill_n(matrices_down, D * H, 0.0f);
        std::fill_n(matrices_up, 2 * H * D, 0.0f);
        return;
      }
      const Matrix grad{out + first * D, D};
      product_nn(count, H, D, grad, {down.const_data_ptr<float>() + e * D * H, H},
                 middle + first * H, H);
      product_tn(D, H, count, grad, {hidden.const_data_ptr<float>() + first * H, H}, matrices_down,
                 H);
      loops::swiglu_backward(gate_up.const_data_ptr<float>() + first * 2 * H,
                             weights.const_data_ptr<float>() + first, middle + first * H, count, H,
                             up + first * 2 * H, grad_weights.mutable_data_ptr<float>() + first);
      const Matrix grad_up{up + first * 2 * H, 2 * H};
      product_nn(count, D, 2 * H, grad_up, {stacked.const_data_ptr<float>() + e * 2 * H * D, D},
                 grad_x.mutable_data_ptr<float>() + first * D, D);
      product_tn(2 * H, D, count, grad_up, {x.const_data_ptr<float>() + first * D, D}, matrices_up,
                 D);
    });
    const auto grad_weights_NK = torch::empty({N, rows / N}, weights.options());
    loops::gather(grad_weights.const_data_ptr<float>(), place.const_data_ptr<int32_t>(), rows,
                  grad_weights_NK.mutable_data_ptr<float>());
    return {grads[0],
            combine(nullptr, grad_x, place, N),
            grad_stacked.narrow(1, 0, H).contiguous(),
            grad_stacked.narrow(1, H, H).contiguous(),
            grad_down,
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

namespace {

torch::Tensor dispatch_and_combine(const torch::Tensor& residual_ND, const torch::Tensor& x_ND,
                                   const ExpertMatrices& matrices, const torch::Tensor& experts_NK,
                                   const torch::Tensor& weights_NK, RowsOfExperts rows_of_experts) {
  const auto type = x_ND.scalar_type();
  const auto order = experts_NK.flatten().argsort(/*stable=*/true, /*dim=*/0);
  const auto token = torch::floor_divide(order, experts_NK.size(1));
  const auto ends = expert_load(experts_NK, matrices.gate_EHD.size(0)).to(torch::kInt64).cumsum(0);
  const auto y = rows_of_experts(x_ND.index_select(0, token),
                                 stack(matrices.gate_EHD, matrices.up_EHD).to(type),
                                 matrices.down_EDH.to(type), ends);
  const auto weights = weights_NK.flatten().index_select(0, order).unsqueeze(1);
  return residual_ND.index_add(0, token, y * weights.to(type));
}

}  // namespace

torch::Tensor expert_feed_forward_reference(const torch::Tensor& residual_ND,
                                            const torch::Tensor& x_ND,
                                            const ExpertMatrices& matrices,
                                            const torch::Tensor& experts_NK,
                                            const torch::Tensor& weights_NK) {
  return dispatch_and_combine(residual_ND, x_ND, matrices, experts_NK, weights_NK,
                              rows_of_experts(x_ND));
}

torch::Tensor expert_feed_forward_by_blocks(const torch::Tensor& residual_ND,
                                            const torch::Tensor& x_ND,
                                            const ExpertMatrices& matrices,
                                            const torch::Tensor& experts_NK,
                                            const torch::Tensor& weights_NK) {
  return dispatch_and_combine(residual_ND, x_ND, matrices, experts_NK, weights_NK, by_blocks);
}

torch::Tensor expert_feed_forward(const torch::Tensor& residual_ND, const torch::Tensor& x_ND,
                                  const ExpertMatrices& matrices, const torch::Tensor& experts_NK,
                                  const torch::Tensor& weights_NK) {
  if (takes_fast_path(residual_ND) && takes_fast_path(x_ND) && takes_fast_path(weights_NK) &&
      takes_fast_path(matrices.gate_EHD)) {
    return ExpertFeedForward::apply(residual_ND, x_ND, matrices.gate_EHD, matrices.up_EHD,
                                    matrices.down_EDH, experts_NK, weights_NK);
  }
  return expert_feed_forward_reference(residual_ND, x_ND, matrices, experts_NK, weights_NK);
}

}  // namespace windtunnel::kernels

#include "kernels/top_k_routing.h"

#include <torch/autograd.h>

#include "kernels/expert_feed_forward.h"
#include "kernels/fast_path.h"
#include "kernels/loops/routing.h"

namespace windtunnel::kernels {
namespace {

// All selected scores together can be 0 only through underflow.
constexpr double kSmallestSum = 1e-9;

struct Routing : torch::autograd::Function<Routing> {
  static loops::RoutingShape shape_of(const torch::Tensor& logits_NE, int64_t K, bool sigmoid) {
    return {.E = logits_NE.size(1),
            .K = K,
            .sigmoid = sigmoid,
            .smallest_sum = static_cast<float>(kSmallestSum)};
  }

  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const torch::Tensor& given,
                                                const std::optional<torch::Tensor>& given_bias,
                                                int64_t K, bool sigmoid, bool has_losses,
                                                double load_balance, double z) {
    const auto logits = given.contiguous();
    const auto bias = given_bias ? given_bias->contiguous() : torch::Tensor();
    const auto shape = shape_of(logits, K, sigmoid);
    const int64_t N = logits.size(0), E = shape.E;
    const auto experts = torch::empty({N, K}, logits.options().dtype(torch::kInt64));
    const auto weights = torch::empty({N, K}, logits.options());
    const auto load = torch::empty({E}, logits.options());
    // Loads and mean probabilities of fixed blocks of tokens, added in order: the same bits for any
    // number of threads.
    const int64_t grain = rows_per_thread(8 * E), blocks = (N + grain - 1) / grain;
    std::vector<loops::RoutingSums> sums(static_cast<size_t>(blocks));
    at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t first = block * grain, rows = std::min(grain, N - first);
        loops::route_forward(shape, rows, logits.const_data_ptr<float>() + first * E,
                             bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                             experts.mutable_data_ptr<int64_t>() + first * K,
                             weights.mutable_data_ptr<float>() + first * K,
                             sums[static_cast<size_t>(block)]);
      }
    });
    std::vector<double> mean(static_cast<size_t>(E)), total(static_cast<size_t>(E));
    double squares = 0, saturated = 0;
    for (const auto& part : sums) {
      for (size_t e = 0; e < mean.size(); ++e) {
        mean[e] += part.probabilities[e] / static_cast<double>(N);
        total[e] += part.load[e];
      }
      squares += part.squared_log_sums;
      saturated += part.saturated;
    }
    double balance = 0;
    for (size_t e = 0; e < mean.size(); ++e) {
      load.mutable_data_ptr<float>()[e] = static_cast<float>(total[e]);
      balance += static_cast<double>(E) * total[e] / static_cast<double>(N * K) * mean[e];
    }
    const auto loss = torch::full({}, load_balance * balance + z * squares / static_cast<double>(N),
                                  logits.options());
    const auto totals = torch::empty({2}, logits.options().dtype(torch::kDouble));
    totals.mutable_data_ptr<double>()[0] = squares;
    totals.mutable_data_ptr<double>()[1] = saturated;
    context->mark_non_differentiable({experts, load, totals});
    context->save_for_backward({logits, experts, weights, load});
    context->saved_data["K"] = K;
    context->saved_data["sigmoid"] = sigmoid;
    context->saved_data["load_balance"] = has_losses ? load_balance : 0.0;
    context->saved_data["z"] = has_losses ? z : 0.0;
    return {experts, weights, load, loss, totals};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &logits = saved[0], &experts = saved[1], &weights = saved[2], &load = saved[3];
    const int64_t K = context->saved_data["K"].toInt(), N = logits.size(0), E = logits.size(1);
    const auto shape = shape_of(logits, K, context->saved_data["sigmoid"].toBool());
    const double of_loss = grads[3].defined() ? grads[3].item<double>() : 0.0;
    // Gradient of the mean probability of each expert, and of each squared log-sum.
    const double balance = of_loss * context->saved_data["load_balance"].toDouble() *
                           static_cast<double>(E) / static_cast<double>(N * K) /
                           static_cast<double>(N);
    std::vector<float> grad_probability(static_cast<size_t>(E));
    for (int64_t e = 0; e < E; ++e) {
      grad_probability[static_cast<size_t>(e)] =
          static_cast<float>(balance * load.const_data_ptr<float>()[e]);
    }
    const auto grad_square =
        static_cast<float>(of_loss * context->saved_data["z"].toDouble() / static_cast<double>(N));
    const auto grad_weights =
        grads[1].defined() ? grads[1].contiguous() : torch::zeros_like(weights);
    const auto grad_logits = torch::empty_like(logits);
    at::parallel_for(0, N, rows_per_thread(8 * E), [&](int64_t begin, int64_t end) {
      loops::route_backward(shape, end - begin, logits.const_data_ptr<float>() + begin * E,
                            experts.const_data_ptr<int64_t>() + begin * K,
                            weights.const_data_ptr<float>() + begin * K,
                            grad_weights.const_data_ptr<float>() + begin * K,
                            grad_probability.data(), grad_square,
                            grad_logits.mutable_data_ptr<float>() + begin * E);
    });
    return {grad_logits, {}, {}, {}, {}, {}, {}};
  }
};

}  // namespace

torch::Tensor load_balance_loss(const torch::Tensor& probabilities_NE,
                                const torch::Tensor& load_E) {
  const auto mean_E = probabilities_NE.mean(0);
  const auto load = load_E.to(mean_E.scalar_type());
  return (load / load.sum() * mean_E).sum() * static_cast<double>(load_E.size(0));
}

torch::Tensor z_loss(const torch::Tensor& logits_NE) {
  return logits_NE.logsumexp(-1).square().mean();
}

TopK top_k_routing_reference(const torch::Tensor& logits_NE, const torch::Tensor& bias_E, int64_t K,
                             RoutingScores scores, const std::optional<RoutingLosses>& losses) {
  const bool sigmoid = scores == RoutingScores::kSigmoid;
  const auto scores_NE = sigmoid ? torch::sigmoid(logits_NE) : torch::softmax(logits_NE, -1);
  const auto preferences_NE = bias_E.defined() ? scores_NE.detach() + bias_E : scores_NE.detach();
  TopK result;
  result.experts_NK = std::get<1>(preferences_NE.topk(K, -1));
  const auto selected_NK = scores_NE.gather(1, result.experts_NK);
  result.weights_NK = selected_NK / selected_NK.sum(-1, /*keepdim=*/true).clamp_min(kSmallestSum);
  result.load_E = expert_load(result.experts_NK, logits_NE.size(1));
  const auto square_N = logits_NE.logsumexp(-1).square();
  const auto affinities_NE = scores_NE.detach();
  const auto saturated = sigmoid ? (affinities_NE < 0.01).logical_or(affinities_NE > 0.99).sum()
                                 : torch::zeros({}, logits_NE.options());
  result.sums_2 =
      torch::stack({square_N.detach().sum(torch::kDouble), saturated.to(torch::kDouble)});
  if (losses) {
    const auto probabilities_NE =
        sigmoid ? scores_NE / scores_NE.sum(-1, /*keepdim=*/true).clamp_min(kSmallestSum)
                : scores_NE;
    result.loss = load_balance_loss(probabilities_NE, result.load_E) * losses->load_balance +
                  square_N.mean() * losses->z;
  }
  return result;
}

TopK top_k_routing(const torch::Tensor& logits_NE, const torch::Tensor& bias_E, int64_t K,
                   RoutingScores scores, const std::optional<RoutingLosses>& losses) {
  TORCH_CHECK(K >= 1 && K <= logits_NE.size(1), "top_k_routing: K = ", K, " of ", logits_NE.size(1),
              " experts");
  if (!takes_fast_path(logits_NE)) {
    return top_k_routing_reference(logits_NE, bias_E, K, scores, losses);
  }
  const RoutingLosses weights = losses.value_or(RoutingLosses{});
  const auto parts = Routing::apply(
      logits_NE, bias_E.defined() ? std::optional(bias_E) : std::nullopt, K,
      scores == RoutingScores::kSigmoid, losses.has_value(), weights.load_balance, weights.z);
  return {parts[0], parts[1], parts[2], losses ? parts[3] : torch::Tensor(), parts[4]};
}

}  // namespace windtunnel::kernels

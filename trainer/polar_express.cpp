// Shapes: B matrices of a stack, M x N, K = min(M, N).

#include "trainer/polar_express.h"

#include <array>
#include <map>

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

struct Coefficients {
  double a, b, c;
};
constexpr std::array<Coefficients, 5> kSteps = {
    {{8.156554524902461, -22.48329292557795, 15.878769915207462},
     {4.042929935166739, -2.808917465908714, 0.5000178451051316},
     {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
     {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
     {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}}};
constexpr double kSafety = 1.02;
constexpr double kTiny = 1e-6;

bool is_tall(const Tensor& X_BMN) { return X_BMN.size(1) >= X_BMN.size(2); }

/// The product of the five polynomials of symmetric G, whose eigenvalues lie in [0, 1].
Tensor polynomial_product(Tensor G_BKK) {
  Tensor Q_BKK;
  for (size_t i = 0; i < kSteps.size(); ++i) {
    const auto [a, b, c] = kSteps[i];
    // The step multiplies X by a I + R, and so G by (a I + R)^2.
    const Tensor R_BKK = at::baddbmm(G_BKK, G_BKK, G_BKK, b, c);
    if (i == 0) {
      Q_BKK = R_BKK.clone();
      Q_BKK.diagonal(0, 1, 2).add_(a);
    } else {
      Q_BKK = at::baddbmm(Q_BKK, Q_BKK, R_BKK, a, 1);
    }
    if (i + 1 == kSteps.size()) break;
    const Tensor half_BKK = at::baddbmm(G_BKK, G_BKK, R_BKK, a, 1);
    G_BKK = at::baddbmm(half_BKK, half_BKK, R_BKK, a, 1);
  }
  return Q_BKK;
}

/// Members are the stacks whose smaller side has one size.
void orthogonalize_by_gram(const std::vector<Tensor>& stacks, const std::vector<size_t>& members,
                           int64_t smaller_side, std::vector<Tensor>& results) {
  int64_t count = 0;
  for (const size_t index : members) count += stacks[index].size(0);
  const Tensor G_BKK = at::empty({count, smaller_side, smaller_side}, stacks[members[0]].options());
  int64_t first = 0;
  for (const size_t index : members) {
    const Tensor& X_BMN = stacks[index];
    Tensor part = G_BKK.narrow(0, first, X_BMN.size(0));
    is_tall(X_BMN) ? at::bmm_out(part, X_BMN.mT(), X_BMN) : at::bmm_out(part, X_BMN, X_BMN.mT());
    first += X_BMN.size(0);
  }
  // The trace of X'X is the squared Frobenius norm.
  const Tensor norm_B11 = G_BKK.diagonal(0, 1, 2).sum(1).sqrt().view({count, 1, 1});
  const Tensor scale_B11 = norm_B11.mul(kSafety).add_(kTiny).reciprocal_();
  const Tensor Q_BKK = polynomial_product(G_BKK.mul_(scale_B11).mul_(scale_B11)).mul_(scale_B11);
  first = 0;
  for (const size_t index : members) {
    const Tensor& X_BMN = stacks[index];
    const Tensor part = Q_BKK.narrow(0, first, X_BMN.size(0));
    results[index] = is_tall(X_BMN) ? at::bmm(X_BMN, part) : at::bmm(part, X_BMN);
    first += X_BMN.size(0);
  }
}

Tensor orthogonalize_in_bfloat16(const Tensor& stack) {
  const Tensor norm_B11 = at::linalg_vector_norm(stack, 2, at::IntArrayRef{1, 2}, true);
  Tensor X_BMN = stack.div(norm_B11.mul(kSafety).add_(kTiny)).to(at::kBFloat16);
  const bool tall = is_tall(X_BMN);
  for (const auto& [a, b, c] : kSteps) {
    const Tensor G_BKK = tall ? at::bmm(X_BMN.mT(), X_BMN) : at::bmm(X_BMN, X_BMN.mT());
    const Tensor R_BKK = at::baddbmm(G_BKK, G_BKK, G_BKK, b, c);
    X_BMN = tall ? at::baddbmm(X_BMN, X_BMN, R_BKK, a, 1) : at::baddbmm(X_BMN, R_BKK, X_BMN, a, 1);
  }
  return X_BMN.to(at::kFloat);
}

}  // namespace

std::vector<Tensor> orthogonalize(const std::vector<Tensor>& stacks) {
  std::vector<Tensor> results(stacks.size());
  std::map<int64_t, std::vector<size_t>> by_smaller_side;
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].is_cpu()) {
      by_smaller_side[std::min(stacks[i].size(1), stacks[i].size(2))].push_back(i);
    } else {
      results[i] = orthogonalize_in_bfloat16(stacks[i]);
    }
  }
  for (const auto& [smaller_side, members] : by_smaller_side) {
    orthogonalize_by_gram(stacks, members, smaller_side, results);
  }
  return results;
}

}  // namespace windtunnel::trainer

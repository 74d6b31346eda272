#include "kernels/product.h"

#include <torch/types.h>

#include <algorithm>

#ifdef WINDTUNNEL_BLAS_IN_TORCH
// The standard Fortran interface; LibTorch exports that of the BLAS it was built with.
extern "C" void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda,
                       const float* b, const int* ldb, const float* beta, float* c, const int* ldc);
#endif

namespace windtunnel::kernels {
namespace {

void multiply(bool a_transposed, bool b_transposed, int64_t M, int64_t N, int64_t K, Matrix a,
              Matrix b, bool add, float* out, int64_t out_stride) {
  if (M == 0 || N == 0) return;
#ifdef WINDTUNNEL_BLAS_IN_TORCH
  // BLAS counts by columns: what it reads as a matrix is the transposed one, so the factors swap.
  const int m = static_cast<int>(N), n = static_cast<int>(M), k = static_cast<int>(K);
  const auto stride = [](int64_t value) { return static_cast<int>(std::max<int64_t>(1, value)); };
  const int lda = stride(b.stride), ldb = stride(a.stride), ldc = stride(out_stride);
  const float one = 1, beta = add ? 1 : 0;
  sgemm_(b_transposed ? "T" : "N", a_transposed ? "T" : "N", &m, &n, &k, &one, b.data, &lda, a.data,
         &ldb, &beta, out, &ldc);
#else
  const auto view = [](const float* data, int64_t rows, int64_t columns, int64_t stride) {
    return torch::from_blob(const_cast<float*>(data), {rows, columns}, {stride, 1});
  };
  const auto left = a_transposed ? view(a.data, K, M, a.stride).t() : view(a.data, M, K, a.stride);
  const auto right = b_transposed ? view(b.data, N, K, b.stride).t() : view(b.data, K, N, b.stride);
  auto result = view(out, M, N, out_stride);
  if (add) {
    result.addmm_(left, right);
  } else {
    at::mm_out(result, left, right);
  }
#endif
}

}  // namespace

void product_nt(int64_t M, int64_t N, int64_t K, Matrix a, Matrix b, float* out,
                int64_t out_stride) {
  multiply(false, true, M, N, K, a, b, false, out, out_stride);
}

void add_product_nt(int64_t M, int64_t N, int64_t K, Matrix a, Matrix b, float* out,
                    int64_t out_stride) {
  multiply(false, true, M, N, K, a, b, true, out, out_stride);
}

void product_nn(int64_t M, int64_t N, int64_t K, Matrix a, Matrix b, float* out,
                int64_t out_stride) {
  multiply(false, false, M, N, K, a, b, false, out, out_stride);
}

void product_tn(int64_t M, int64_t N, int64_t K, Matrix a, Matrix b, float* out,
                int64_t out_stride) {
  multiply(true, false, M, N, K, a, b, false, out, out_stride);
}

}  // namespace windtunnel::kernels

#pragma once
// Products of matrices of floats that lie in rows, for the hand-written CPU operations: LibTorch's
// BLAS without the cost of making tensors of the parts.

#include <cstdint>

namespace windtunnel::kernels {

/// Rows are `stride` floats apart.
struct Matrix {
  const float* data;
  int64_t stride;
};

/// out[M, N] = a[M, K] b[N, K]'.
void product_nt(int64_t M, int64_t N, int64_t K, Matrix a, Matrix b, float* out,
                int64_t out_stride);
/// out[M, N] += a[M, K] b[N, K]'.
void add_product_nt(int64_t M, int64_t N, int64_t K, Matrix a, Matrix b, float* out,
                    int64_t out_stride);
/// out[M, N] = a[M, K] b[K, N].
void product_nn(int64_t M, int64_t N, int64_t K, Matrix a, Matrix b, float* out,
                int64_t out_stride);
/// out[M, N] = a[K, M]' b[K, N].
void product_tn(int64_t M, int64_t N, int64_t K, Matrix a, Matrix b, float* out,
                int64_t out_stride);

}  // namespace windtunnel::kernels

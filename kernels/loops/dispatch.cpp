#include "kernels/loops/dispatch.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/loops/lanes.h"

namespace windtunnel::kernels::loops {

bool sort_by_expert(const int64_t* experts, int64_t assignments, int64_t K, int64_t E,
                    int32_t* place, int32_t* token, int64_t* ends) {
  std::fill_n(ends, E, 0);
  for (int64_t i = 0; i < assignments; ++i) {
    if (experts[i] < 0 || experts[i] >= E) return false;
    ++ends[experts[i]];
  }
  std::vector<int64_t> next(static_cast<size_t>(E), 0);
  for (int64_t e = 1; e < E; ++e) {
    next[static_cast<size_t>(e)] = ends[e - 1];
    ends[e] += ends[e - 1];
  }
  for (int64_t i = 0; i < assignments; ++i) {
    const int64_t row = next[static_cast<size_t>(experts[i])]++;
    place[i] = static_cast<int32_t>(row);
    token[row] = static_cast<int32_t>(i / K);
  }
  return true;
}

void gather_rows(const float* from, const int32_t* token, int64_t first, int64_t last, int64_t D,
                 float* to) {
  for (int64_t row = first; row < last; ++row) {
    std::memcpy(to + row * D, from + token[row] * D, static_cast<size_t>(D) * sizeof(float));
  }
}

WINDTUNNEL_CLONES
void combine_rows(const float* residual, const float* from, const int32_t* place, int64_t first,
                  int64_t last, int64_t K, int64_t D, float* to) {
  for (int64_t n = first; n < last; ++n) {
    float* sum = to + n * D;
    const float* start = from + place[n * K] * D;
    if (residual) {
      const float* given = residual + n * D;
#pragma omp simd
      for (int64_t d = 0; d < D; ++d) sum[d] = given[d] + start[d];
    } else {
      std::memcpy(sum, start, static_cast<size_t>(D) * sizeof(float));
    }
    for (int64_t k = 1; k < K; ++k) {
      const float* next = from + place[n * K + k] * D;
#pragma omp simd
      for (int64_t d = 0; d < D; ++d) sum[d] += next[d];
    }
  }
}

void scatter(const float* from, const int32_t* place, int64_t assignments, float* to) {
  for (int64_t i = 0; i < assignments; ++i) to[place[i]] = from[i];
}

void gather(const float* from, const int32_t* place, int64_t assignments, float* to) {
  for (int64_t i = 0; i < assignments; ++i) to[i] = from[place[i]];
}

}  // namespace windtunnel::kernels::loops

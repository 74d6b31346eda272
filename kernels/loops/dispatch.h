#pragma once
// Bringing tokens to their experts and back, in fp32 on a CPU core. N tokens, K assignments each,
// D features.

#include <cstdint>

namespace windtunnel::kernels::loops {

/// Stable counting sort of the N K assignments by expert.
///
/// place[n K + k] is the sorted row of an assignment, token[row] its token, ends[e] the end of the
/// rows of expert e. Assignments must be in [0, E); returns false if one is not.
bool sort_by_expert(const int64_t* experts, int64_t assignments, int64_t K, int64_t E,
                    int32_t* place, int32_t* token, int64_t* ends);

/// to[row] = from[token[row]] for rows first..last.
void gather_rows(const float* from, const int32_t* token, int64_t first, int64_t last, int64_t D,
                 float* to);

/// to[n] = residual[n] + sum over k of from[place[n K + k]] for tokens first..last; `residual` may
/// be null, which stands for 0.
void combine_rows(const float* residual, const float* from, const int32_t* place, int64_t first,
                  int64_t last, int64_t K, int64_t D, float* to);

/// to[place[i]] = from[i], and to[i] = from[place[i]]: one number per assignment to and from its
/// row.
void scatter(const float* from, const int32_t* place, int64_t assignments, float* to);
void gather(const float* from, const int32_t* place, int64_t assignments, float* to);

}  // namespace windtunnel::kernels::loops

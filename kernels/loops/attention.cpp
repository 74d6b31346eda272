#include "kernels/loops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/loops/lanes.h"

// Sixteen queries at a time, one per lane, against one key after another: every product is a lane
// vector times a broadcast number, so any head size is handled without padding or tails, and the
// softmax never has to add across lanes. Only the gradients of keys and values, which are sums over
// queries, put features in the lanes and pad them to a multiple of 16.
//
// Layout of the scratch: [feature][lane] for a block of queries, [key][lane] for their scores.

namespace windtunnel::kernels::loops {
namespace {

constexpr int kKeysAtOnce = 8;
constexpr int kFeaturesAtOnce = 8;

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The keys that a block of queries starting at `first` can see, widened to whole tiles. Keys past
/// the end are read as the last one and always hidden.
struct Block {
  int64_t first, rows, key_begin, key_end;
};

WINDTUNNEL_INLINE Block block_at(const AttentionRow& row, int64_t first) {
  const int64_t rows = std::min<int64_t>(kLanes, row.T - first);
  const int64_t begin = std::max<int64_t>(0, first - row.window + 1);
  const int64_t keys = first + rows - begin;
  return {first, rows, begin, begin + (keys + kKeysAtOnce - 1) / kKeysAtOnce * kKeysAtOnce};
}

/// columns[feature][lane] from up to 16 rows; lanes without a row become 0.
WINDTUNNEL_INLINE void transpose_in(const float* from, int64_t stride, int64_t rows, int64_t C,
                                    float* columns) {
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    for (int64_t c = 0; c < C; ++c) {
      columns[c * kLanes + lane] = lane < rows ? from[lane * stride + c] : 0.0f;
    }
  }
}

/// dot[key] of the queries in `columns` with kKeysAtOnce vectors of `keys`.
WINDTUNNEL_INLINE void dot_tile(const float* columns, const float* const* keys, int64_t C,
                                Lanes* dot) {
  for (int j = 0; j < kKeysAtOnce; ++j) dot[j] = Lanes{};
  for (int64_t c = 0; c < C; ++c) {
    const Lanes column = load(columns + c * kLanes);
    for (int j = 0; j < kKeysAtOnce; ++j) dot[j] += column * keys[j][c];
  }
}

WINDTUNNEL_INLINE void tile_rows(const float* base, int64_t F, int64_t T, int64_t key,
                                 const float** rows) {
  for (int j = 0; j < kKeysAtOnce; ++j) rows[j] = base + std::min(key + j, T - 1) * F;
}

/// Puts `value` where the query of the lane does not see the key.
WINDTUNNEL_INLINE void hide(const AttentionRow& row, const Block& block, int64_t key, float value,
                            Lanes* tile) {
  const bool at_diagonal = key + kKeysAtOnce > block.first;
  const bool at_window = key <= block.first + kLanes - 1 - row.window;
  if (!at_diagonal && !at_window) return;
  for (int j = 0; j < kKeysAtOnce; ++j) {
    // Distance from the key to the query of each lane: visible in [0, window).
    const IntLanes distance = lane_numbers() + static_cast<int32_t>(block.first - key - j);
    const IntLanes hidden = (distance < 0) | (distance >= static_cast<int32_t>(row.window));
    tile[j] = hidden ? broadcast(value) : tile[j];
  }
}

/// out[row][c0 .. c0 + Width) (+)= sum over keys of weights[key][lane] * values[key][c].
template <int Width>
WINDTUNNEL_INLINE void weighted_sum(const float* weights, const float* values, int64_t F, int64_t T,
                                    const Block& block, int64_t c0, Lanes factor, float* out,
                                    int64_t out_stride) {
  Lanes sum[Width];
  for (int c = 0; c < Width; ++c) sum[c] = Lanes{};
  const int64_t end = std::min(block.key_end, T);
  for (int64_t key = block.key_begin; key < end; ++key) {
    const Lanes weight = load(weights + (key - block.key_begin) * kLanes);
    const float* value = values + key * F + c0;
    for (int c = 0; c < Width; ++c) sum[c] += weight * value[c];
  }
  for (int c = 0; c < Width; ++c) {
    const Lanes scaled = sum[c] * factor;
    for (int64_t lane = 0; lane < block.rows; ++lane) {
      out[lane * out_stride + c0 + c] = scaled[lane];
    }
  }
}

WINDTUNNEL_INLINE void weighted_sums(const float* weights, const float* values, int64_t F,
                                     int64_t T, const Block& block, int64_t C, Lanes factor,
                                     float* out, int64_t out_stride) {
  int64_t c = 0;
  for (; c + kFeaturesAtOnce <= C; c += kFeaturesAtOnce) {
    weighted_sum<kFeaturesAtOnce>(weights, values, F, T, block, c, factor, out, out_stride);
  }
  for (; c + 2 <= C; c += 2) {
    weighted_sum<2>(weights, values, F, T, block, c, factor, out, out_stride);
  }
  for (; c < C; ++c) {
    weighted_sum<1>(weights, values, F, T, block, c, factor, out, out_stride);
  }
}

/// into_k[key][:] += sum over lanes of a[key][lane] * q[lane][:], and the same for v with b and o,
/// for four keys; rows of q, o and the sums have `padded` features.
WINDTUNNEL_INLINE void add_outer(const float* a, const float* b, const float* q, const float* o,
                                 int64_t padded, float* into_k, float* into_v) {
  constexpr int kKeys = 4;
  for (int64_t c = 0; c < padded; c += kLanes) {
    Lanes sum_k[kKeys], sum_v[kKeys];
    for (int j = 0; j < kKeys; ++j) {
      sum_k[j] = load(into_k + j * padded + c);
      sum_v[j] = load(into_v + j * padded + c);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const Lanes query = load(q + lane * padded + c);
      const Lanes grad = load(o + lane * padded + c);
      for (int j = 0; j < kKeys; ++j) {
        sum_k[j] += query * a[j * kLanes + lane];
        sum_v[j] += grad * b[j * kLanes + lane];
      }
    }
    for (int j = 0; j < kKeys; ++j) {
      store(into_k + j * padded + c, sum_k[j]);
      store(into_v + j * padded + c, sum_v[j]);
    }
  }
}

WINDTUNNEL_INLINE void copy_padded(const float* from, int64_t stride, int64_t rows, int64_t C,
                                   int64_t padded, float* to) {
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    for (int64_t c = 0; c < C; ++c) {
      to[lane * padded + c] = lane < rows ? from[lane * stride + c] : 0.0f;
    }
  }
}

}  // namespace

WINDTUNNEL_CLONES
void attention_forward(const AttentionRow& row, const AttentionInputs& in, float* out,
                       float* log_sum, std::vector<float>& scratch) {
  const int64_t C = row.C;
  scratch.assign(static_cast<size_t>((C + row.T + kLanes + kKeysAtOnce) * kLanes), 0.0f);
  float* columns = scratch.data();
  float* scores = columns + C * kLanes;
  const float infinity = std::numeric_limits<float>::infinity();
  for (int64_t head = 0; head < row.share; ++head) {
    for (int64_t first = 0; first < row.T; first += kLanes) {
      const Block block = block_at(row, first);
      transpose_in(in.q + first * row.F + head * C, row.F, block.rows, C, columns);
      Lanes highest = broadcast(-infinity);
      const float* keys[kKeysAtOnce];
      for (int64_t key = block.key_begin; key < block.key_end; key += kKeysAtOnce) {
        Lanes tile[kKeysAtOnce];
        tile_rows(in.k, row.F, row.T, key, keys);
        dot_tile(columns, keys, C, tile);
        hide(row, block, key, -infinity, tile);
        for (int j = 0; j < kKeysAtOnce; ++j) {
          highest = maximum(highest, tile[j]);
          store(scores + (key - block.key_begin + j) * kLanes, tile[j]);
        }
      }
      // Lanes past the last row see nothing at all when their window has moved on.
      highest = highest > -infinity ? highest : Lanes{};
      Lanes total = Lanes{};
      for (int64_t at = 0; at < block.key_end - block.key_begin; ++at) {
        const Lanes score = load(scores + at * kLanes);
        Lanes weight = exponential(score - highest);
        weight = score > -infinity ? weight : Lanes{};
        total += weight;
        store(scores + at * kLanes, weight);
      }
      weighted_sums(scores, in.v, row.F, row.T, block, C, 1.0f / total,
                    out + first * row.H * C + head * C, row.H * C);
      for (int64_t lane = 0; lane < block.rows; ++lane) {
        log_sum[head * row.T + first + lane] = highest[lane] + std::log(total[lane]);
      }
    }
  }
}

WINDTUNNEL_CLONES
void attention_backward(const AttentionRow& row, const AttentionInputs& in, const float* out,
                        const float* log_sum, const float* grad_out, const AttentionGradients& grad,
                        std::vector<float>& scratch) {
  const int64_t C = row.C, padded = round_up(C, kLanes);
  const int64_t keys_in_scratch = row.T + kLanes + kKeysAtOnce;
  scratch.assign(static_cast<size_t>(2 * C * kLanes + 2 * keys_in_scratch * kLanes +
                                     2 * kLanes * padded + 2 * keys_in_scratch * padded),
                 0.0f);
  float* q_columns = scratch.data();
  float* o_columns = q_columns + C * kLanes;
  float* weights = o_columns + C * kLanes;
  float* grad_scores = weights + keys_in_scratch * kLanes;
  float* q_rows = grad_scores + keys_in_scratch * kLanes;
  float* o_rows = q_rows + kLanes * padded;
  float* grad_k = o_rows + kLanes * padded;
  float* grad_v = grad_k + keys_in_scratch * padded;
  const int64_t out_stride = row.H * C;
  for (int64_t head = 0; head < row.share; ++head) {
    for (int64_t first = 0; first < row.T; first += kLanes) {
      const Block block = block_at(row, first);
      const float* q = in.q + first * row.F + head * C;
      const float* o = grad_out + first * out_stride + head * C;
      const float* y = out + first * out_stride + head * C;
      transpose_in(q, row.F, block.rows, C, q_columns);
      transpose_in(o, out_stride, block.rows, C, o_columns);
      copy_padded(q, row.F, block.rows, C, padded, q_rows);
      copy_padded(o, out_stride, block.rows, C, padded, o_rows);
      // The softmax's gradient needs sum over keys of weight * its gradient = output . gradient.
      Lanes mean = Lanes{}, log_total = broadcast(std::numeric_limits<float>::infinity());
      for (int64_t lane = 0; lane < block.rows; ++lane) {
        float sum = 0;
        for (int64_t c = 0; c < C; ++c) sum += y[lane * out_stride + c] * o[lane * out_stride + c];
        mean[lane] = sum;
        log_total[lane] = log_sum[head * row.T + first + lane];
      }
      const float* rows[kKeysAtOnce];
      for (int64_t key = block.key_begin; key < block.key_end; key += kKeysAtOnce) {
        Lanes tile[kKeysAtOnce], grad_tile[kKeysAtOnce];
        tile_rows(in.k, row.F, row.T, key, rows);
        dot_tile(q_columns, rows, C, tile);
        for (int j = 0; j < kKeysAtOnce; ++j) tile[j] = exponential(tile[j] - log_total);
        hide(row, block, key, 0.0f, tile);
        tile_rows(in.v, row.F, row.T, key, rows);
        dot_tile(o_columns, rows, C, grad_tile);
        const int64_t at = (key - block.key_begin) * kLanes;
        for (int j = 0; j < kKeysAtOnce; ++j) {
          store(weights + at + j * kLanes, tile[j]);
          store(grad_scores + at + j * kLanes, tile[j] * (grad_tile[j] - mean));
        }
        for (int j = 0; j < kKeysAtOnce; j += 4) {
          add_outer(grad_scores + at + j * kLanes, weights + at + j * kLanes, q_rows, o_rows,
                    padded, grad_k + (key + j) * padded, grad_v + (key + j) * padded);
        }
      }
      weighted_sums(grad_scores, in.k, row.F, row.T, block, C, broadcast(1.0f),
                    grad.q + first * row.F + head * C, row.F);
    }
  }
  for (int64_t t = 0; t < row.T; ++t) {
    for (int64_t c = 0; c < C; ++c) {
      grad.k[t * row.F + c] = grad_k[t * padded + c];
      grad.v[t * row.F + c] = grad_v[t * padded + c];
    }
  }
}

}  // namespace windtunnel::kernels::loops

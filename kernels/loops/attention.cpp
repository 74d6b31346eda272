#include "kernels/loops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/loops/lanes.h"

// Sixteen queries at a time, one per lane, against one key after another: every product is a lane
// vector times a broadcast number, so any head size is handled without padding, and the softmax
// never adds across lanes. Only the gradients of keys and values, which are sums over queries, put
// features in the lanes and pad them to a multiple of 16.
//
// Keys come in tiles of eight. Layouts in the scratch: columns [feature][lane] for a block of
// queries, packed [tile][feature][8] for keys, scores [key][lane].

namespace windtunnel::kernels::loops {
namespace {

constexpr int kTile = 8;

WINDTUNNEL_INLINE int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Queries first..first + rows - 1 and the whole tiles of keys they can see, [begin, end).
struct Block {
  int64_t first, rows, begin, end;
};

WINDTUNNEL_INLINE Block block_at(const AttentionRow& row, int64_t first) {
  const int64_t rows = std::min<int64_t>(kLanes, row.T - first);
  const int64_t begin = std::max<int64_t>(0, first - row.window + 1) / kTile * kTile;
  return {first, rows, begin, round_up(first + rows, kTile)};
}

/// columns[feature][lane] of up to 16 rows; lanes without a row become 0.
WINDTUNNEL_INLINE void to_columns(const float* from, int64_t stride, int64_t rows, int64_t C,
                                  float* columns) {
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    for (int64_t c = 0; c < C; ++c) {
      columns[c * kLanes + lane] = lane < rows ? from[lane * stride + c] : 0.0f;
    }
  }
}

WINDTUNNEL_INLINE void from_columns(const float* columns, int64_t rows, int64_t C, float* to,
                                    int64_t stride) {
  for (int64_t lane = 0; lane < rows; ++lane) {
    for (int64_t c = 0; c < C; ++c) to[lane * stride + c] = columns[c * kLanes + lane];
  }
}

/// Up to 16 rows with `padded` features each; what is missing becomes 0.
WINDTUNNEL_INLINE void to_padded(const float* from, int64_t stride, int64_t rows, int64_t C,
                                 int64_t padded, float* to) {
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    for (int64_t c = 0; c < C; ++c) {
      to[lane * padded + c] = lane < rows ? from[lane * stride + c] : 0.0f;
    }
  }
}

WINDTUNNEL_INLINE void pack_tiles(const float* from, int64_t stride, int64_t T, int64_t C,
                                  float* packed) {
  for (int64_t t = 0; t < round_up(T, kTile); ++t) {
    float* tile = packed + t / kTile * C * kTile + t % kTile;
    for (int64_t c = 0; c < C; ++c) tile[c * kTile] = t < T ? from[t * stride + c] : 0.0f;
  }
}

/// dot[key] of the queries in `columns` with the eight vectors of a packed tile.
WINDTUNNEL_INLINE void dot_tile(const float* columns, const float* tile, int64_t C, Lanes* dot) {
  for (int j = 0; j < kTile; ++j) dot[j] = Lanes{};
  for (int64_t c = 0; c < C; ++c) {
    const Lanes column = load(columns + c * kLanes);
    for (int j = 0; j < kTile; ++j) dot[j] += column * tile[c * kTile + j];
  }
}

/// Sixteen floats read at an offset of one of these are `shut` up to some lane and `open` from it
/// on. (Comparing lane numbers would say it better, but the compiler takes such selections apart.)
struct Staircase {
  float steps[3 * kLanes];
  constexpr Staircase(float shut, float open, float again) : steps{} {
    for (int i = 0; i < kLanes; ++i) {
      steps[i] = shut;
      steps[kLanes + i] = open;
      steps[2 * kLanes + i] = again;
    }
  }
};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// As an upper bound of scores, and as a factor of weights.
constexpr Staircase kBounds(-kInfinity, kInfinity, -kInfinity), kFactors(0, 1, 0);

/// Whether some query of the block does not see some key of the tile at `key`.
WINDTUNNEL_INLINE bool is_cut(const AttentionRow& row, const Block& block, int64_t key) {
  return key + kTile > block.first || key <= block.first + kLanes - 1 - row.window;
}

/// The staircase over lanes for one key: open from the lane whose query is the key's own token up
/// to the one whose window has moved on.
WINDTUNNEL_INLINE Lanes visible(const Staircase& stairs, const AttentionRow& row,
                                const Block& block, int64_t key, bool at_window) {
  const int64_t lane = std::clamp<int64_t>(
      at_window ? key + row.window - block.first : key - block.first, 0, kLanes);
  return load(stairs.steps + (at_window ? 2 * kLanes : kLanes) - lane);
}

WINDTUNNEL_INLINE Lanes bounds(const AttentionRow& row, const Block& block, int64_t key) {
  return minimum(visible(kBounds, row, block, key, false), visible(kBounds, row, block, key, true));
}

WINDTUNNEL_INLINE Lanes factors(const AttentionRow& row, const Block& block, int64_t key) {
  return visible(kFactors, row, block, key, false) * visible(kFactors, row, block, key, true);
}

/// columns[c] = factor * sum over `keys` keys of weights[key] * values[key][c], `Width` features;
/// `Ways` keys at once in sums of their own, so that additions do not wait for each other.
template <int Width, int Ways>
WINDTUNNEL_INLINE void weighted_sum(const float* weights, const float* values, int64_t stride,
                                    int64_t keys, Lanes factor, float* columns) {
  Lanes sum[Ways][Width];
  for (int way = 0; way < Ways; ++way) {
    for (int c = 0; c < Width; ++c) sum[way][c] = Lanes{};
  }
  int64_t key = 0;
  for (; key + Ways <= keys; key += Ways) {
    for (int way = 0; way < Ways; ++way) {
      const Lanes weight = load(weights + (key + way) * kLanes);
      const float* value = values + (key + way) * stride;
      for (int c = 0; c < Width; ++c) sum[way][c] += weight * value[c];
    }
  }
  for (; key < keys; ++key) {
    const Lanes weight = load(weights + key * kLanes);
    for (int c = 0; c < Width; ++c) sum[0][c] += weight * values[key * stride + c];
  }
  for (int c = 0; c < Width; ++c) {
    Lanes total = sum[0][c];
    for (int way = 1; way < Ways; ++way) total += sum[way][c];
    store(columns + c * kLanes, total * factor);
  }
}

WINDTUNNEL_INLINE void weighted_sums(const float* weights, const float* values, int64_t stride,
                                     int64_t keys, int64_t C, Lanes factor, float* columns) {
  int64_t c = 0;
  for (; c + 16 <= C; c += 16) {
    weighted_sum<16, 1>(weights, values + c, stride, keys, factor, columns + c * kLanes);
  }
  for (; c + 12 <= C; c += 12) {
    weighted_sum<12, 1>(weights, values + c, stride, keys, factor, columns + c * kLanes);
  }
  for (; c + 8 <= C; c += 8) {
    weighted_sum<8, 1>(weights, values + c, stride, keys, factor, columns + c * kLanes);
  }
  for (; c + 4 <= C; c += 4) {
    weighted_sum<4, 2>(weights, values + c, stride, keys, factor, columns + c * kLanes);
  }
  for (; c + 2 <= C; c += 2) {
    weighted_sum<2, 4>(weights, values + c, stride, keys, factor, columns + c * kLanes);
  }
  for (; c < C; ++c) {
    weighted_sum<1, 8>(weights, values + c, stride, keys, factor, columns + c * kLanes);
  }
}

/// into_k[key][:] += sum over lanes of a[key][lane] * q[lane][:], and the same for v with b and o,
/// for a tile of keys; rows of q, o and the sums have `padded` features.
WINDTUNNEL_INLINE void add_outer(const float* a, const float* b, const float* q, const float* o,
                                 int64_t padded, float* into_k, float* into_v) {
  for (int64_t c = 0; c < padded; c += kLanes) {
    Lanes sum_k[kTile], sum_v[kTile];
    for (int j = 0; j < kTile; ++j) {
      sum_k[j] = load(into_k + j * padded + c);
      sum_v[j] = load(into_v + j * padded + c);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const Lanes query = load(q + lane * padded + c);
      const Lanes grad = load(o + lane * padded + c);
      for (int j = 0; j < kTile; ++j) {
        sum_k[j] += query * a[j * kLanes + lane];
        sum_v[j] += grad * b[j * kLanes + lane];
      }
    }
    for (int j = 0; j < kTile; ++j) {
      store(into_k + j * padded + c, sum_k[j]);
      store(into_v + j * padded + c, sum_v[j]);
    }
  }
}

}  // namespace

WINDTUNNEL_CLONES
void attention_forward(const AttentionRow& row, const AttentionInputs& in, float* out,
                       float* log_sum, std::vector<float>& scratch) {
  const int64_t C = row.C, keys = round_up(row.T, kTile), out_stride = row.H * C;
  scratch.resize(static_cast<size_t>(2 * C * kLanes + keys * (C + kLanes)));
  float* columns = scratch.data();
  float* out_columns = columns + C * kLanes;
  float* packed = out_columns + C * kLanes;
  float* scores = packed + keys * C;
  pack_tiles(in.k, row.F, row.T, C, packed);
  for (int64_t head = 0; head < row.share; ++head) {
    for (int64_t first = 0; first < row.T; first += kLanes) {
      const Block block = block_at(row, first);
      to_columns(in.q + first * row.F + head * C, row.F, block.rows, C, columns);
      Lanes highest = broadcast(-kInfinity);
      for (int64_t key = block.begin; key < block.end; key += kTile) {
        Lanes tile[kTile];
        dot_tile(columns, packed + key * C, C, tile);
        if (is_cut(row, block, key)) {
          for (int j = 0; j < kTile; ++j) tile[j] = minimum(tile[j], bounds(row, block, key + j));
        }
        float* to = scores + (key - block.begin) * kLanes;
        for (int j = 0; j < kTile; ++j) {
          highest = maximum(highest, tile[j]);
          store(to + j * kLanes, tile[j]);
        }
      }
      // Lanes past the last row may see nothing at all.
      highest = maximum(highest, broadcast(std::numeric_limits<float>::lowest()));
      Lanes total = Lanes{};
      for (int64_t key = block.begin; key < block.end; key += kTile) {
        float* at = scores + (key - block.begin) * kLanes;
        Lanes tile[kTile];
        for (int j = 0; j < kTile; ++j) tile[j] = exponential(load(at + j * kLanes) - highest);
        if (is_cut(row, block, key)) {
          for (int j = 0; j < kTile; ++j) tile[j] *= factors(row, block, key + j);
        }
        for (int j = 0; j < kTile; ++j) {
          total += tile[j];
          store(at + j * kLanes, tile[j]);
        }
      }
      const int64_t seen = std::min(block.end, row.T) - block.begin;
      weighted_sums(scores, in.v + block.begin * row.F, row.F, seen, C, 1.0f / total, out_columns);
      from_columns(out_columns, block.rows, C, out + first * out_stride + head * C, out_stride);
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
  const int64_t C = row.C, keys = round_up(row.T, kTile), out_stride = row.H * C;
  const int64_t padded = round_up(C, kLanes);
  // Zeros: the sums of the keys' and values' gradients and the padding start from them.
  scratch.assign(
      static_cast<size_t>(3 * C * kLanes + 2 * keys * (C + kLanes + padded) + 2 * kLanes * padded),
      0.0f);
  float* q_columns = scratch.data();
  float* o_columns = q_columns + C * kLanes;
  float* grad_columns = o_columns + C * kLanes;
  float* packed_k = grad_columns + C * kLanes;
  float* packed_v = packed_k + keys * C;
  float* weights = packed_v + keys * C;
  float* grad_scores = weights + keys * kLanes;
  float* grad_k = grad_scores + keys * kLanes;
  float* grad_v = grad_k + keys * padded;
  float* q_rows = grad_v + keys * padded;
  float* o_rows = q_rows + kLanes * padded;
  pack_tiles(in.k, row.F, row.T, C, packed_k);
  pack_tiles(in.v, row.F, row.T, C, packed_v);
  for (int64_t head = 0; head < row.share; ++head) {
    for (int64_t first = 0; first < row.T; first += kLanes) {
      const Block block = block_at(row, first);
      const float* q = in.q + first * row.F + head * C;
      const float* o = grad_out + first * out_stride + head * C;
      const float* y = out + first * out_stride + head * C;
      to_columns(q, row.F, block.rows, C, q_columns);
      to_columns(o, out_stride, block.rows, C, o_columns);
      to_columns(y, out_stride, block.rows, C, grad_columns);
      to_padded(q, row.F, block.rows, C, padded, q_rows);
      to_padded(o, out_stride, block.rows, C, padded, o_rows);
      // The softmax's gradient needs sum over keys of weight * its gradient = output . gradient.
      Lanes mean = Lanes{};
      for (int64_t c = 0; c < C; ++c) {
        mean += load(grad_columns + c * kLanes) * load(o_columns + c * kLanes);
      }
      float log_totals[kLanes];
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        log_totals[lane] = log_sum[head * row.T + std::min(first + lane, row.T - 1)];
      }
      const Lanes log_total = load(log_totals);
      for (int64_t key = block.begin; key < block.end; key += kTile) {
        Lanes tile[kTile], grad_tile[kTile];
        dot_tile(q_columns, packed_k + key * C, C, tile);
        // A visible score is below the logarithm of the sum but for rounding.
        for (int j = 0; j < kTile; ++j) {
          tile[j] = exponential(minimum(tile[j] - log_total, broadcast(1.0f)));
        }
        if (is_cut(row, block, key)) {
          for (int j = 0; j < kTile; ++j) tile[j] *= factors(row, block, key + j);
        }
        dot_tile(o_columns, packed_v + key * C, C, grad_tile);
        float* a = grad_scores + (key - block.begin) * kLanes;
        float* b = weights + (key - block.begin) * kLanes;
        for (int j = 0; j < kTile; ++j) {
          store(a + j * kLanes, tile[j] * (grad_tile[j] - mean));
          store(b + j * kLanes, tile[j]);
        }
        add_outer(a, b, q_rows, o_rows, padded, grad_k + key * padded, grad_v + key * padded);
      }
      const int64_t seen = std::min(block.end, row.T) - block.begin;
      weighted_sums(grad_scores, in.k + block.begin * row.F, row.F, seen, C, broadcast(1.0f),
                    grad_columns);
      from_columns(grad_columns, block.rows, C, grad.q + first * row.F + head * C, row.F);
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

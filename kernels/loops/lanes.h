#pragma once
// Portable vectors of 16 floats and what the hand-written CPU loops share. The compiler turns them
// into one AVX-512, two AVX2 or four SSE registers; WINDTUNNEL_CLONES compiles a function once for
// each of these and picks at run time. A macro, because an attribute cannot be named otherwise.
//
// Everything here is always inlined, so that it takes the instruction set of the function it is
// used in; a lambda or an ordinary inline function would not.

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WINDTUNNEL_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WINDTUNNEL_CLONES
#endif
#define WINDTUNNEL_INLINE static inline __attribute__((always_inline))

namespace windtunnel::kernels::loops {

constexpr int kLanes = 16;
typedef float Lanes __attribute__((vector_size(64)));
typedef int32_t IntLanes __attribute__((vector_size(64)));

WINDTUNNEL_INLINE Lanes load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

WINDTUNNEL_INLINE void store(float* to, Lanes lanes) { std::memcpy(to, &lanes, sizeof(lanes)); }

WINDTUNNEL_INLINE Lanes broadcast(float value) { return Lanes{} + value; }

WINDTUNNEL_INLINE Lanes maximum(Lanes a, Lanes b) { return a > b ? a : b; }

/// 0, 1, ... 15.
WINDTUNNEL_INLINE IntLanes lane_numbers() {
  return IntLanes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2; exp(r) by a polynomial of
// degree 6 (Taylor with the last terms fitted, after Cephes expf). Relative error below 2e-7.
// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits of the float.
constexpr float kRounder = 12582912.0f;
constexpr int32_t kRounderBits = 0x4B400000;
constexpr float kLowestExponent = -87.0f, kHighestExponent = 88.0f;
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

template <class Real>
WINDTUNNEL_INLINE Real exp_polynomial(Real r) {
  Real p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * (r * r) + r + 1.0f;
}

/// Clamped to the finite range; exp of -infinity is the smallest normal number, not 0.
WINDTUNNEL_INLINE Lanes exponential(Lanes x) {
  x = x > kLowestExponent ? x : broadcast(kLowestExponent);
  x = x < kHighestExponent ? x : broadcast(kHighestExponent);
  const Lanes shifted = x * kLog2E + kRounder;
  const Lanes n = shifted - kRounder;
  const Lanes r = (x - n * kLn2High) - n * kLn2Low;
  const IntLanes scale = (std::bit_cast<IntLanes>(shifted) - (kRounderBits - 127)) << 23;
  return exp_polynomial(r) * std::bit_cast<Lanes>(scale);
}

/// The same for one float, in a form that loops over it vectorise.
WINDTUNNEL_INLINE float exponential(float x) {
  x = x > kLowestExponent ? x : kLowestExponent;
  x = x < kHighestExponent ? x : kHighestExponent;
  const float shifted = x * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  const auto scale = static_cast<uint32_t>(std::bit_cast<int32_t>(shifted) - (kRounderBits - 127))
                     << 23;
  return exp_polynomial(r) * std::bit_cast<float>(scale);
}

}  // namespace windtunnel::kernels::loops

#pragma once
// Portable vectors of 16 floats and what the hand-written CPU loops share. The compiler turns them
// into one AVX-512, two AVX2 or four SSE registers, in functions that are compiled once for each of
// these (WINDTUNNEL_CLONES).
//
// Everything here is always inlined, so that it takes the instruction set of the function it is
// used in; a lambda or an ordinary inline function would not.

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/target_clones.h"

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

WINDTUNNEL_INLINE Lanes minimum(Lanes a, Lanes b) { return a < b ? a : b; }

// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2; exp(r) = 1 + r + r^2 q(r) with
// the q of degree 3 that makes the largest relative error smallest, about 1e-7. Adding 1.5 * 2^23
// rounds to an integer and leaves it in the low bits of the float; ln 2 in two parts keeps r exact.
constexpr float kRounder = 12582912.0f;
constexpr float kLowestExponent = -87.0f, kHighestExponent = 88.0f;
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

template <class Real>
WINDTUNNEL_INLINE Real exp_polynomial(Real r) {
  Real q = r * 8.3124776601e-3f + 4.1890550169e-2f;
  q = q * r + 1.6667116315e-1f;
  q = q * r + 4.9999228824e-1f;
  return q * (r * r) + (r + 1.0f);
}

/// For x <= 88; below -87 it stays at exp(-87), about 2e-38, and never becomes 0.
WINDTUNNEL_INLINE Lanes exponential(Lanes x) {
  x = x > kLowestExponent ? x : broadcast(kLowestExponent);
  const Lanes shifted = x * kLog2E + kRounder;
  const Lanes n = shifted - kRounder;
  const Lanes r = (x - n * kLn2High) - n * kLn2Low;
  // The bits of kRounder itself leave at the top.
  const IntLanes exponent = std::bit_cast<IntLanes>(shifted) << 23;
  return std::bit_cast<Lanes>(std::bit_cast<IntLanes>(exp_polynomial(r)) + exponent);
}

/// The same for one float, in a form that loops over it vectorise; exp(88) above 88.
WINDTUNNEL_INLINE float exponential(float x) {
  x = x > kLowestExponent ? x : kLowestExponent;
  x = x < kHighestExponent ? x : kHighestExponent;
  const float shifted = x * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(exp_polynomial(r)) + exponent);
}

}  // namespace windtunnel::kernels::loops

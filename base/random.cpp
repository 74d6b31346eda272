#include "base/random.h"

#include <cmath>
#include <numbers>
#include <string>

#include "base/error.h"
#include "base/fingerprint.h"

namespace windtunnel::base {
namespace {

struct Block {
  uint32_t word[4];
};

Block philox(uint64_t counter, uint64_t key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  Block x{{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0}};
  auto key0 = static_cast<uint32_t>(key);
  auto key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * x.word[0];
    const uint64_t product1 = kMultiplier1 * x.word[2];
    x = {{static_cast<uint32_t>(product1 >> 32) ^ x.word[1] ^ key0, static_cast<uint32_t>(product1),
          static_cast<uint32_t>(product0 >> 32) ^ x.word[3] ^ key1,
          static_cast<uint32_t>(product0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return x;
}

uint64_t key_of(uint64_t seed, std::string_view name) {
  const std::string hash = sha256(std::to_string(seed) + "/" + std::string(name));
  return std::stoull(hash.substr(0, 16), nullptr, 16);
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, std::string_view name) : key_(key_of(seed, name)) {}

uint64_t RandomStream::next() {
  // Each block holds two 64-bit draws.
  const Block block = philox(position_ / 2, key_);
  const int half = static_cast<int>(position_ % 2) * 2;
  ++position_;
  return (static_cast<uint64_t>(block.word[half + 1]) << 32) | block.word[half];
}

double RandomStream::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

uint64_t RandomStream::below(uint64_t bound) {
  check(bound > 0, "RandomStream::below needs a positive bound");
  // Draws under this threshold would make the low remainders likelier.
  const uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const uint64_t draw = next();
    if (draw >= threshold) return draw % bound;
  }
}

}  // namespace windtunnel::base

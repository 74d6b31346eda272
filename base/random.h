#pragma once
// Named random streams. A run has one seed; each use ("weights", "data", "routing") draws from its
// own stream, so that adding a draw in one place never shifts another. Same seed and name: same
// bits, on every machine.

#include <cstdint>
#include <string_view>
#include <utility>

namespace windtunnel::base {

/// A counter-based generator: Philox4x32-10 keyed by a hash of seed and name.
///
/// State:   a position; copying copies it, position()/seek() save and restore it.
/// Source:  Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name);

  uint64_t next();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Standard normal (Box-Muller, two draws each).
  double normal();
  /// Uniform in [0, bound) without bias. bound must be > 0.
  uint64_t below(uint64_t bound);

  /// Fisher-Yates, from the back.
  template <class Container>
  void shuffle(Container& items) {
    for (size_t left = items.size(); left > 1; --left) {
      using std::swap;
      swap(items[left - 1], items[below(left)]);
    }
  }

  /// Number of next() calls so far.
  uint64_t position() const { return position_; }
  void seek(uint64_t position) { position_ = position; }

 private:
  uint64_t key_;
  uint64_t position_ = 0;
};

}  // namespace windtunnel::base

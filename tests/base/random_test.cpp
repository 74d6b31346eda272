#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace windtunnel::base {
namespace {

TEST(RandomStream, SameSeedAndNameGiveTheSameBits) {
  RandomStream a(7, "weights"), b(7, "weights");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(a.next(), b.next());
}

TEST(RandomStream, NamesAndSeedsGiveDifferentStreams) {
  std::set<uint64_t> first;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (const char* name : {"weights", "data", "routing"})
      first.insert(RandomStream(seed, name).next());
  }
  EXPECT_EQ(first.size(), 150u);
}

TEST(RandomStream, SeekGoesBackToAnyPosition) {
  RandomStream stream(1, "x");
  std::vector<uint64_t> draws;
  for (int i = 0; i < 9; ++i) draws.push_back(stream.next());
  for (const uint64_t position : {5u, 0u, 8u, 3u}) {
    stream.seek(position);
    EXPECT_EQ(stream.next(), draws[position]);
  }
}

TEST(RandomStream, UniformHasTheMomentsOfTheUniform) {
  RandomStream stream(3, "moments");
  const int n = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = stream.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    squares += x * x;
  }
  // Five standard errors of each moment.
  EXPECT_NEAR(sum / n, 0.5, 5 * 0.2887 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * 0.2981 / std::sqrt(n));
}

TEST(RandomStream, NormalHasTheMomentsOfTheNormal) {
  RandomStream stream(4, "normal");
  const int n = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = stream.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * 1.4142 / std::sqrt(n));
}

TEST(RandomStream, BelowCoversItsRangeEvenly) {
  RandomStream stream(5, "below");
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[stream.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 5 * 93);
}

TEST(RandomStream, AShuffleIsAPermutation) {
  RandomStream stream(6, "shuffle");
  std::vector<int> items(1000);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  stream.shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

}  // namespace
}  // namespace windtunnel::base

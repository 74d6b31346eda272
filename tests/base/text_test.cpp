#include "base/text.h"

#include <gtest/gtest.h>

namespace windtunnel::base {
namespace {

TEST(Text, CountsAndDurationsReadWell) {
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(37'440), "37.4k");
  EXPECT_EQ(format_count(1'827'000), "1.83M");
  EXPECT_EQ(format_count(553.7e6), "553.7M");
  EXPECT_EQ(format_count(999'999), "1.00M");
  EXPECT_EQ(format_duration(0.85), "850 ms");
  EXPECT_EQ(format_duration(245), "4 min 05 s");
  EXPECT_EQ(format_duration(7800), "2 h 10 min");
}

TEST(Text, JoiningKeepsEmptyParts) {
  EXPECT_EQ(join({"", "a", ""}, ","), ",a,");
  EXPECT_EQ(join({}, ","), "");
}

TEST(Text, ShorteningKeepsWholeCharacters) {
  EXPECT_EQ(shorten("abc", 3), "abc");
  EXPECT_EQ(shorten("abcdef", 5), "ab...");
  EXPECT_EQ(shorten("a\xC3\xA9\xC3\xA9\xC3\xA9", 6), "a\xC3\xA9...");
}

TEST(Text, TheNearestWordIsFoundOnlyWhenItIsNear) {
  EXPECT_EQ(nearest_word("lerning_rate", {"learning_rate", "weight_decay"}), "learning_rate");
  EXPECT_EQ(nearest_word("banana", {"learning_rate", "weight_decay"}), "");
  EXPECT_EQ(nearest_word("xyz", {"abc"}), "");
}

TEST(Text, ATableAlignsNumbersRight) {
  EXPECT_EQ(format_table({{"name", "value"}, {"a", "1.5"}, {"bcdef", "10"}}),
            "name   value\na        1.5\nbcdef     10\n");
}

}  // namespace
}  // namespace windtunnel::base

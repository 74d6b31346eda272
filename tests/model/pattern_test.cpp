#include "model/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"

namespace windtunnel::model {
namespace {

std::string error_of(std::string_view pattern) {
  try {
    return "no error, but " + expand_pattern(pattern);
  } catch (const base::ConfigError& error) {
    return error.problems.at(0).text();
  }
}

TEST(Pattern, GroupsAndRepetitionsExpand) {
  EXPECT_EQ(expand_pattern("*D*E"), "*D*E");
  EXPECT_EQ(expand_pattern("*D(*E)3"), "*D*E*E*E");
  EXPECT_EQ(expand_pattern("(*D)2(*E)6"), "*D*D*E*E*E*E*E*E");
  EXPECT_EQ(expand_pattern("((*D)2E)2"), "*D*DE*D*DE");
  EXPECT_EQ(expand_pattern("D3(E)"), "DDDE");
  EXPECT_EQ(expand_pattern("*1024").size(), 1024u);
}

TEST(Pattern, CanonicalFormIsTheShortest) {
  EXPECT_EQ(canonical_pattern("*D*E*E*E"), "*D(*E)3");
  EXPECT_EQ(canonical_pattern("*D*D*E*E*E*E*E*E"), "*D*D(*E)6");
  EXPECT_EQ(canonical_pattern("DDD"), "D3");
  EXPECT_EQ(canonical_pattern("DD"), "DD");
  EXPECT_EQ(canonical_pattern("*D*D*"), "*D*D*");
  EXPECT_EQ(canonical_pattern("*DDD*DDD*DDD"), "(*D3)3");
}

TEST(Pattern, TiesGoToTheLeftmost) { EXPECT_EQ(canonical_pattern("*D*D*D*"), "(*D)3*"); }

TEST(Pattern, CanonicalFormExpandsToTheSameLetters) {
  base::RandomStream stream(1, "patterns");
  for (int i = 0; i < 300; ++i) {
    std::string letters;
    const uint64_t size = 1 + stream.below(24);
    while (letters.size() < size) letters += "*DE"[stream.below(i % 2 ? 3 : 2)];
    const std::string canonical = canonical_pattern(letters);
    EXPECT_EQ(expand_pattern(canonical), letters);
    EXPECT_LE(canonical.size(), letters.size());
    EXPECT_EQ(canonical_pattern(expand_pattern(canonical)), canonical);
  }
}

TEST(Pattern, UnknownLetterShowsACaret) {
  EXPECT_EQ(error_of("*DX*E"),
            "model.pattern = \"*DX*E\": column 3: no layer kind has this letter; legal letters: * "
            "attention, D dense, E experts\n    *DX*E\n      ^");
}

TEST(Pattern, MistakesAreNamedWithTheirColumn) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of(""), HasSubstr("must have at least one layer"));
  EXPECT_THAT(error_of("*D(*E"), HasSubstr("column 3: this '(' is never closed"));
  EXPECT_THAT(error_of("*D)2"), HasSubstr("column 3: this ')' closes nothing"));
  EXPECT_THAT(error_of("*()2"), HasSubstr("column 2: this group is empty"));
  EXPECT_THAT(error_of("2*"), HasSubstr("column 1: this number repeats nothing"));
  EXPECT_THAT(error_of("*D(*E)0"), HasSubstr("column 7: a repetition must be at least 1"));
  EXPECT_THAT(error_of("(*E)513"), HasSubstr("more than 1024 positions"));
  EXPECT_THAT(error_of("*99999999999999999999"), HasSubstr("more than 1024 positions"));
  EXPECT_THAT(error_of(std::string(100, '(')), HasSubstr("nest deeper than 32"));
  EXPECT_THAT(error_of("*\n\xff"), HasSubstr("\"*??\""));
}

}  // namespace
}  // namespace windtunnel::model

#include "scaling/row_filter.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace windtunnel::scaling {
namespace {

bool passes(const std::string& text) {
  return RowFilter::parse(text).passes([](const std::string& name) -> std::string {
    if (name == "C") return "1e21";
    if (name == "model") return "d=96_l=8";
    return "";
  });
}

TEST(RowFilter, ComparesNumbersAsNumbersAndTextAsText) {
  EXPECT_TRUE(passes("C<2e21"));
  EXPECT_FALSE(passes("C<1000000000000000000000"));
  EXPECT_TRUE(passes("C>=1e21"));
  EXPECT_TRUE(passes("model=d=96_l=8"));
  EXPECT_TRUE(passes("model != x"));
  EXPECT_TRUE(passes("model='d=96_l=8'"));
  EXPECT_FALSE(passes("model='d=96_l=8' and C<1"));
  EXPECT_FALSE(passes("model<5")) << "text has no order";
  EXPECT_TRUE(passes(""));
}

TEST(RowFilter, WhatIsNoNumberIsNotComparedAsText) {
  for (const char* text : {"C<1e21 AND N>1e9", "C<1e21 && N>1e9", "C<10^21", "C<1e21 and", "N>1B",
                           "C=>1e19", "C<1,000,000", "model=a AND C=b"}) {
    EXPECT_THROW(RowFilter::parse(text), base::UsageError) << text;
  }
}

TEST(RowFilter, AndBindsTighterThanOr) {
  EXPECT_TRUE(passes("C<1 and C<2 or model=d=96_l=8"));
  EXPECT_FALSE(passes("C<1 or C>2 and model=x"));
}

TEST(RowFilter, NothingIsTrueOfAnAbsentValueButThatItDiffers) {
  EXPECT_FALSE(passes("seed<5"));
  EXPECT_TRUE(passes("seed!=5"));
}

TEST(RowFilter, ABrokenConditionIsNamed) {
  try {
    RowFilter::parse("C<1 and D");
    FAIL();
  } catch (const base::UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "condition 'D' in 'C<1 and D' must be NAME<VALUE with one of < <= > >= = !=");
  }
}

}  // namespace
}  // namespace windtunnel::scaling

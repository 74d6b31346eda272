#include "trainer/token_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace windtunnel::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr TokenRowsRule kRule{.vocabulary = 10, .min_columns = 1, .max_columns = 3};

std::string refusal(const std::string& json) {
  try {
    token_rows(base::parse_json(json, "ids.json"), "ids.json", kRule);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(TokenRows, AreReadInOrder) {
  const auto rows = token_rows(base::parse_json("[[1, 2, 3], [0, 9, 0]]", "ids"), "ids", kRule);
  EXPECT_TRUE(torch::equal(rows, torch::tensor({1, 2, 3, 0, 9, 0}, torch::kLong).view({2, 3})));
}

TEST(TokenRows, AnIdOutsideTheVocabularyIsNamedByRowAndPosition) {
  EXPECT_EQ(refusal("[[1, 2], [3, 10]]"),
            "ids.json: row 1, position 1 = 10: must be an integer >= 0 and < 10");
  EXPECT_THAT(refusal("[[-1]]"), HasSubstr("row 0, position 0 = -1: must be an integer >= 0"));
  EXPECT_THAT(refusal("[[18446744073709551615]]"), HasSubstr("row 0, position 0"));
}

TEST(TokenRows, WhatIsNoIntegerIsRefused) {
  for (const char* value : {"1.5", "1.0", "\"1\"", "null", "true", "[1]"}) {
    EXPECT_THAT(refusal("[[1, " + std::string(value) + "]]"),
                HasSubstr("row 0, position 1 = " + std::string(value) + ": must be an integer"));
  }
}

TEST(TokenRows, RowsOfDifferentLengthsAreRefused) {
  EXPECT_EQ(refusal("[[1, 2], [3]]"), "ids.json: row 1 = 1 ids: must have as many as row 0, 2");
}

TEST(TokenRows, TooLongOrEmptyRowsAreRefused) {
  EXPECT_THAT(refusal("[[1, 2, 3, 4]]"), HasSubstr("row 0 = 4 ids: must have 1 to 3 ids"));
  EXPECT_THAT(refusal("[[]]"), HasSubstr("row 0 = 0 ids: must have 1 to 3 ids"));
}

TEST(TokenRows, WhatIsNoListOfRowsIsRefused) {
  for (const char* document : {"[]", "{}", "3", "null", "\"ids\""}) {
    EXPECT_THAT(refusal(document), HasSubstr("must be a list of rows of token ids")) << document;
  }
  EXPECT_THAT(refusal("[[1], 2]"), HasSubstr("row 1 = 2: must be a list of token ids"));
}

TEST(TokenRows, AllProblemsAreNamedUpToTwenty) {
  EXPECT_THAT(refusal("[[11, 12], [13, 1], [1]]"),
              AllOf(HasSubstr("4 problems"), HasSubstr("row 0, position 1 = 12"),
                    HasSubstr("row 1, position 0 = 13"), HasSubstr("row 2 = 1 ids")));
  std::string many = "[[99]";
  for (int i = 0; i < 50; ++i) many += ", [99]";
  EXPECT_THAT(refusal(many + "]"), AllOf(HasSubstr("20 problems"), Not(HasSubstr("row 20"))));
}

}  // namespace
}  // namespace windtunnel::trainer

// Golden values: tests/golden/source_bytes.py.

#include "evaluation/source_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/json.h"
#include "evaluation/bits_per_byte.h"
#include "evaluation/token_nats.h"
#include "tests/evaluation/small_model.h"

namespace windtunnel::evaluation {
namespace {

using base::Json;
using tests::scored;
using tests::small_model;

const Json& golden() {
  static const Json values =
      base::read_json(WINDTUNNEL_SOURCE_DIR "/tests/golden/source_bytes.json");
  return values;
}

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// With the source's count switched on.
ScoredText with_source(const std::vector<std::string>& documents) {
  ScoredText text = scored(documents);
  text.source_bytes = source_byte_lengths(tests::byte_tokenizer());
  return text;
}

TEST(SourceBytes, ReplaceEveryMaximalInvalidPartAsPythonDoes) {
  for (const Json& given : golden()["sequences"]) {
    EXPECT_EQ(replaced_utf8_length(bytes_of(given["hex"])), given["length"]) << given["hex"];
  }
}

TEST(SourceBytes, ATokenThatHoldsHalfACharacterCountsThree) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.insert(tokens.end(), {"\xE4\xB8", "\xE4\xB8\xAD", "th"});
  const auto lengths =
      source_byte_lengths(corpus::Tokenizer::from_ranks(tokens, {corpus::kBeginOfDocument}));
  ASSERT_EQ(lengths.size(), 260u);
  EXPECT_EQ(lengths['a'], 1);
  EXPECT_EQ(lengths[0xE4], 3);
  EXPECT_EQ(lengths[256], 3);  // two bytes of a character of three
  EXPECT_EQ(lengths[257], 3);  // the whole
  EXPECT_EQ(lengths[258], 2);
  EXPECT_EQ(lengths[259], 0);  // begin of document
}

TEST(SourceBytes, OfTextsWithEmojiChineseAndBrokenSequences) {
  auto model = small_model();
  for (const Json& given : golden()["texts"]) {
    const std::string raw = bytes_of(given["hex"]);
    const auto result = evaluate(model, with_source({raw}), 4);
    EXPECT_EQ(result.bytes, given["bytes"]);
    EXPECT_EQ(result.bytes_source, given["source_bytes"]) << given["hex"];
    ASSERT_TRUE(result.bits_per_byte_source);
    EXPECT_DOUBLE_EQ(*result.bits_per_byte_source,
                     result.total_nats / std::numbers::ln2 / given["source_bytes"].get<double>());
  }
}

TEST(SourceBytes, AreThoseOfTheTextWhereItIsAscii) {
  auto model = small_model();
  const auto result = evaluate(model, with_source({"the wind ", "stops."}), 4);
  EXPECT_EQ(result.bytes_source, result.bytes);
  EXPECT_DOUBLE_EQ(*result.bits_per_byte_source, result.bits_per_byte);
}

TEST(SourceBytes, ATargetWithoutBytesLeavesBothSums) {
  auto model = small_model();
  ScoredText text = with_source({"the wind"});
  text.tokens[4] = tests::byte_tokenizer().begin_of_document();
  const auto nats = token_nats(model, text, 4);
  double total = 0;
  for (size_t i = 0; i < nats.size(); ++i) total += i == 4 ? 0 : nats[i];
  ASSERT_GT(nats[4], 0);
  const auto result = evaluate(model, text, 4);
  EXPECT_EQ(result.bytes_source, 7);
  EXPECT_NEAR(*result.bits_per_byte_source, bits_per_byte(total, 7), 1e-9);
}

TEST(SourceBytes, AreNullWhereNobodyCountedThem) {
  auto model = small_model();
  const auto result = evaluate(model, scored({"the wind"}), 4);
  EXPECT_FALSE(result.bits_per_byte_source);
  EXPECT_FALSE(result.bytes_source);
}

}  // namespace
}  // namespace windtunnel::evaluation

#include "base/json.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/fingerprint.h"

namespace windtunnel::base {
namespace {

using ::testing::HasSubstr;

TEST(Json, NonFiniteNumbersHaveAnEncodingAndNullStaysMissing) {
  for (const double value : {1.5, HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(decode_number(encode_number(value)), value);
  }
  EXPECT_TRUE(std::isnan(*decode_number(encode_number(std::nan("")))));
  EXPECT_EQ(decode_number(nullptr), std::nullopt);
}

TEST(Json, AnOverrideReadsJsonWhereItParsesAndTextOtherwise) {
  Json document = {{"a", {{"b", 1}}}};
  apply_override(document, "a.b=2.5");
  apply_override(document, "a.name=muon");
  apply_override(document, "x.y=[1, 2]");
  apply_override(document, "p=a=b");
  EXPECT_EQ(document, Json::parse(R"({"a":{"b":2.5,"name":"muon"},"x":{"y":[1,2]},"p":"a=b"})"));
}

TEST(Json, AnOverrideWithoutPathOrEqualsSignIsRefused) {
  Json document;
  for (const char* bad : {"a.b", "=3"}) {
    try {
      apply_override(document, bad);
      FAIL() << bad;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("must look like path=value"));
    }
  }
}

TEST(Json, ADifferenceAppliedGivesTheOther) {
  const Json from = {{"a", {{"b", 1}, {"c", 2}}}, {"d", 3}};
  const Json to = {{"a", {{"b", 1}, {"c", 5}, {"e", {{"f", 6}}}}}, {"d", 3}};
  EXPECT_EQ(difference(from, to), (Json{{"a.c", 5}, {"a.e", {{"f", 6}}}}));
  EXPECT_EQ(apply_patch(from, difference(from, to)), to);
}

TEST(Json, ABadFileIsNamedWithThePlace) {
  try {
    parse_json("{\"a\": }", "thing.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("thing.json: not valid JSON at byte 7"));
  }
}

TEST(Fingerprint, EqualValuesHaveEqualFingerprints) {
  EXPECT_EQ(fingerprint(Json::parse(R"({"a": 1.0, "b": [1, 2]})")),
            fingerprint(Json::parse(R"({"b": [1.0, 2], "a": 1})")));
  EXPECT_NE(fingerprint({{"a", 1}}), fingerprint({{"a", 2}}));
}

TEST(Fingerprint, Sha256OfAbcIsTheStandardsExample) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace windtunnel::base

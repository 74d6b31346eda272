#include "base/config.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace windtunnel::base {
namespace {

using ::testing::HasSubstr;

struct Inner {
  std::string kind = "a";
  double rate = 0.5;
  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kind", self.kind, {.help = "which", .choices = {"a", "b"}});
    visit("rate", self.rate,
          {.help = "how fast", .unit = "1/s", .exclusive_minimum = 0, .maximum = 1});
  }
};

struct Outer {
  int64_t count = 3;
  bool flag = true;
  std::optional<double> maybe;
  std::vector<int64_t> list = {1, 2};
  std::vector<Inner> inners;
  Inner inner;
  Json free = Json::object();
  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("count", self.count, {.help = "how many", .minimum = 1});
    visit("flag", self.flag, {.help = "whether"});
    visit("maybe", self.maybe, {.help = "perhaps"});
    visit("list", self.list, {.help = "numbers"});
    visit("inners", self.inners, {.help = "several"});
    visit("inner", self.inner, {.help = "one"});
    visit("free", self.free, {.help = "anything", .schema = {{"type", "object"}}});
  }
};

std::string refusal(const Json& document) {
  try {
    from_json<Outer>(document, "outer.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Config, AbsentKeysKeepTheirDefaults) {
  const auto outer = from_json<Outer>({{"inner", {{"kind", "b"}}}}, "outer.json");
  EXPECT_EQ(outer.count, 3);
  EXPECT_EQ(outer.inner.kind, "b");
  EXPECT_EQ(outer.inner.rate, 0.5);
  EXPECT_FALSE(outer.maybe.has_value());
}

TEST(Config, ARoundTripKeepsEveryField) {
  Outer outer;
  outer.maybe = 2.5;
  outer.inners.resize(2);
  outer.inners[1].rate = 0.25;
  outer.free["x"] = {1, 2};
  const Json written = to_json(outer);
  EXPECT_EQ(to_json(from_json<Outer>(written, "outer.json")), written);
}

TEST(Config, MissingIsNullAndStaysMissing) {
  const Json written = to_json(Outer{});
  EXPECT_TRUE(written["maybe"].is_null());
  EXPECT_FALSE(from_json<Outer>(written, "outer.json").maybe.has_value());
}

TEST(Config, AnUnknownKeyIsRefusedWithItsPathAndTheNearestName) {
  const std::string text = refusal({{"inner", {{"rat", 0.1}}}});
  EXPECT_THAT(text, HasSubstr("inner.rat = 0.1: unknown key; did you mean 'inner.rate'?"));
}

TEST(Config, AnUnknownKeyWithoutANearNameListsTheKnownOnes) {
  EXPECT_THAT(refusal({{"inner", {{"zzzzzzzz", 1}}}}), HasSubstr("known keys: kind, rate"));
}

TEST(Config, AValueOutOfRangeIsRefusedWithPathValueAndRule) {
  EXPECT_THAT(refusal({{"inner", {{"rate", 0}}}}),
              HasSubstr("inner.rate = 0: must be of type number and > 0 and <= 1"));
  EXPECT_THAT(refusal({{"count", 0}}), HasSubstr("count = 0: must be of type integer and >= 1"));
}

TEST(Config, AWrongTypeIsRefused) {
  EXPECT_THAT(refusal({{"count", "three"}}),
              HasSubstr("count = \"three\": must be of type integer"));
  EXPECT_THAT(refusal({{"flag", 1}}), HasSubstr("flag = 1: must be of type boolean"));
}

TEST(Config, AWordOutsideTheChoicesIsRefusedWithTheChoices) {
  EXPECT_THAT(refusal({{"inner", {{"kind", "c"}}}}),
              HasSubstr("inner.kind = \"c\": must be one of a, b"));
}

TEST(Config, AProblemInsideAListNamesItsPlace) {
  EXPECT_THAT(refusal({{"inners", {{{"kind", "a"}}, {{"kind", "x"}}}}}),
              HasSubstr("inners.1.kind"));
}

TEST(Config, AllProblemsAreReportedAtOnce) {
  try {
    from_json<Outer>({{"count", 0}, {"inner", {{"rate", 7}, {"kind", "c"}, {"foo", 1}}}},
                     "outer.json");
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems.size(), 4u) << error.what();
  }
}

TEST(Config, TheSchemaCarriesHelpUnitRangeAndDefault) {
  const Json rate = schema_of<Inner>()["properties"]["rate"];
  EXPECT_EQ(rate["description"], "how fast");
  EXPECT_EQ(rate["x-unit"], "1/s");
  EXPECT_EQ(rate["exclusiveMinimum"], 0);
  EXPECT_EQ(rate["default"], 0.5);
}

}  // namespace
}  // namespace windtunnel::base

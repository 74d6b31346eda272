#include "base/schema_paths.h"

#include <gmock/gmock.h>

#include <map>

#include "base/config.h"
#include "base/error.h"

namespace windtunnel::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Bias {
  double step = 0.5;
  double clamp = 1;
  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("step", self.step, {.help = "how far", .minimum = 0, .exclusive_maximum = 1});
    visit("clamp", self.clamp, {.help = "how large", .exclusive_minimum = 0});
  }
};

struct Machine {
  std::string kind = "red";
  Bias left, right;
  std::vector<Bias> several;
  std::map<std::string, Bias> named;
  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("kind", self.kind, {.help = "which", .choices = {"red", "blue"}});
    visit("left", self.left, {.help = "one side"});
    visit("right", self.right, {.help = "the other side"});
    visit("several", self.several, {.help = "a list"});
    visit("named", self.named, {.help = "by name"});
  }
};

struct Factory {
  Machine machine;
  int64_t workers = 3;
  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("machine", self.machine, {.help = "what works"});
    visit("workers", self.workers, {.help = "who works", .minimum = 1, .maximum = 9});
  }
};

const Json& schema() {
  static const Json schema = schema_of<Factory>();
  return schema;
}

std::vector<std::string> named(const std::string& path) {
  std::vector<std::string> paths;
  for (const SchemaField& field : fields_named(schema(), path)) paths.push_back(field.path);
  return paths;
}

TEST(SchemaPaths, ListEveryFieldWithGroupsBeforeTheirFields) {
  std::vector<std::string> paths;
  for (const SchemaField& field : schema_fields(schema())) {
    paths.push_back(field.path + (field.is_group() ? "/" : ""));
  }
  EXPECT_THAT(paths, ElementsAre("machine/", "machine.kind", "machine.left/", "machine.left.clamp",
                                 "machine.left.step", "machine.named", "machine.right/",
                                 "machine.right.clamp", "machine.right.step", "machine.several",
                                 "workers"));
}

TEST(SchemaPaths, AFieldIsFoundByItsPathAlsoInListsAndMaps) {
  EXPECT_EQ((*schema_at(schema(), "machine.left.step"))["default"], 0.5);
  EXPECT_EQ((*schema_at(schema(), "machine.several.4.clamp"))["description"], "how large");
  EXPECT_EQ((*schema_at(schema(), {"machine", "named", "a.b", "step"}))["default"], 0.5);
  EXPECT_EQ(schema_at(schema(), "machine.middle.step"), nullptr);
  EXPECT_EQ(schema_at(schema(), "workers.step"), nullptr);
}

TEST(SchemaPaths, PartsMayBeLeftOutButNotTheLast) {
  EXPECT_THAT(named("machine.left.step"), ElementsAre("machine.left.step"));
  EXPECT_THAT(named("machine.step"), ElementsAre("machine.left.step", "machine.right.step"));
  EXPECT_THAT(named("right.step"), ElementsAre("machine.right.step"));
  EXPECT_THAT(named("kind"), ElementsAre("machine.kind"));
  EXPECT_THAT(named("left.machine.step"), IsEmpty());
  EXPECT_THAT(named("machine.lef"), IsEmpty());
}

TEST(SchemaPaths, TheNearestPathOfAWrongOneIsNamed) {
  EXPECT_THAT(nearest_paths(schema(), "machin.left.stp"), ElementsAre("machine.left.step"));
  EXPECT_THAT(nearest_paths(schema(), "machine.step"),
              ElementsAre("machine.left.step", "machine.right.step"));
  EXPECT_THAT(nearest_paths(schema(), "left.clmp"), ElementsAre("machine.left.clamp"));
  EXPECT_THAT(nearest_paths(schema(), "elsewhere.workers"), ElementsAre("workers"));
  EXPECT_THAT(nearest_paths(schema(), "machine.nothing_like_it"), IsEmpty());
  EXPECT_THAT(nearest_paths(schema(), "elsewhere.workrs"), IsEmpty());
}

TEST(SchemaPaths, AnUnknownKeyOfADocumentNamesTheFullPath) {
  const auto rule = [](const Json& document, const std::string& prefix) {
    const auto problems = schema_problems(document, schema(), prefix);
    return problems.size() == 1 ? problems[0].text() : "not one problem";
  };
  EXPECT_EQ(rule({{"machine", {{"step", 1}}}}, "base"),
            "base.machine.step = 1: unknown key; did you mean 'base.machine.left.step' or "
            "'base.machine.right.step'?");
  EXPECT_THAT(rule({{"machine", {{"named", {{"a.b", {{"clam", 1}}}}}}}}, ""),
              HasSubstr("machine.named.a.b.clam = 1: unknown key; "));
}

TEST(SchemaPaths, TypeRangeAndChoicesAreTold) {
  EXPECT_EQ(type_text(*schema_at(schema(), "workers")), "integer");
  EXPECT_EQ(range_text(*schema_at(schema(), "workers")), ">= 1 and <= 9");
  EXPECT_EQ(range_text(*schema_at(schema(), "machine.left.step")), ">= 0 and < 1");
  EXPECT_EQ(range_text(*schema_at(schema(), "machine.kind")), "");
  EXPECT_THAT(choices_of(*schema_at(schema(), "machine.kind")), ElementsAre("red", "blue"));
}

}  // namespace
}  // namespace windtunnel::base

// What people rely on when they ask for a field: it says what it means, in which unit, and what
// holds if nothing is said.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/schema_paths.h"
#include "base/text.h"
#include "model/router_kind.h"
#include "study/run_config.h"

namespace windtunnel::study {
namespace {

using base::Json;
using base::SchemaField;

const Json& schema() {
  static const Json schema = base::schema_of<RunConfig>();
  return schema;
}

std::vector<SchemaField> leaves() {
  std::vector<SchemaField> fields = base::schema_fields(schema());
  std::erase_if(fields, [](const SchemaField& field) { return field.is_group(); });
  return fields;
}

bool has(const SchemaField& field, const char* key) {
  const auto found = field.schema->find(key);
  return found != field.schema->end() && *found != Json("");
}

bool is_numeric(const SchemaField& field) {
  const std::string type = base::type_text(*field.schema);
  return type.starts_with("integer") || type.starts_with("number");
}

TEST(RunConfigSchema, EveryFieldAndGroupSaysWhatItMeans) {
  for (const SchemaField& field : base::schema_fields(schema())) {
    EXPECT_TRUE(has(field, "description")) << field.path << " needs .help";
  }
}

TEST(RunConfigSchema, EveryFieldHasATypeAndADefaultThatFitsIt) {
  ASSERT_GE(leaves().size(), 40u);
  for (const SchemaField& field : leaves()) {
    EXPECT_TRUE(has(field, "type")) << field.path;
    ASSERT_TRUE(field.schema->contains("default")) << field.path;
    const auto problems = base::schema_problems((*field.schema)["default"], *field.schema);
    EXPECT_TRUE(problems.empty()) << field.path << ": its default " << problems[0].text();
  }
}

TEST(RunConfigSchema, EveryNumberHasALowestValue) {
  for (const SchemaField& field : leaves()) {
    if (!is_numeric(field)) continue;
    EXPECT_TRUE(has(field, "minimum") || has(field, "exclusiveMinimum"))
        << field.path << " needs .minimum or .exclusive_minimum";
  }
}

// An integer counts something; a name with a unit in it has that unit.
TEST(RunConfigSchema, EveryCountAndEveryQuantitySaysItsUnit) {
  for (const SchemaField& field : leaves()) {
    const std::string name = base::split(field.path, '.').back();
    if (base::type_text(*field.schema).starts_with("integer") && name != "seed") {
      EXPECT_TRUE(has(field, "x-unit")) << field.path << " needs .unit: what does it count?";
    }
    for (const std::string unit : {"bytes", "tokens", "seconds", "steps", "rows", "nats"}) {
      const std::vector<std::string> words = base::split(name, '_');
      if (!is_numeric(field) || std::find(words.begin(), words.end(), unit) == words.end()) {
        continue;
      }
      EXPECT_TRUE(has(field, "x-unit")) << field.path << " needs .unit";
    }
  }
}

TEST(RunConfigSchema, ASourceNamesAWorkThatCanBeFound) {
  size_t sources = 0;
  for (const SchemaField& field : leaves()) {
    if (!has(field, "x-source")) continue;
    ++sources;
    const std::string source = (*field.schema)["x-source"];
    EXPECT_NE(source.find_first_of("0123456789"), std::string::npos)
        << field.path << ": source '" << source << "' has no year or number";
  }
  EXPECT_GE(sources, 12u);
}

TEST(RunConfigSchema, TheOptionsOfEveryRouterAreExplainedUnderItsName) {
  for (const std::string& router : model::RouterKinds::instance().names()) {
    const std::string path = "model.layers.E.router." + router;
    ASSERT_NE(base::schema_at(schema(), path), nullptr);
    for (const std::string& option : base::field_names(*base::schema_at(schema(), path))) {
      // The kind's name may be left out.
      const auto found = base::fields_named(schema(), "model.layers.E.router." + option);
      EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const SchemaField& field) {
        return field.path == path + "." + option;
      })) << option;
    }
  }
}

}  // namespace
}  // namespace windtunnel::study

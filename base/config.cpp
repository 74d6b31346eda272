#include "base/config.h"

#include <algorithm>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/error.h"
#include "base/schema_paths.h"
#include "base/text.h"

namespace windtunnel::base {
namespace detail {

void add_restrictions(Json& schema, const FieldInfo& info) {
  if (!info.help.empty()) schema["description"] = info.help;
  if (!info.unit.empty()) schema["x-unit"] = info.unit;
  if (!info.source.empty()) schema["x-source"] = info.source;
  if (info.minimum) schema["minimum"] = *info.minimum;
  if (info.exclusive_minimum) schema["exclusiveMinimum"] = *info.exclusive_minimum;
  if (info.maximum) schema["maximum"] = *info.maximum;
  if (info.exclusive_maximum) schema["exclusiveMaximum"] = *info.exclusive_maximum;
  if (!info.choices.empty()) {
    Json& target = schema.contains("items") ? schema["items"] : schema;
    target["enum"] = info.choices;
  }
}

}  // namespace detail

namespace {

std::string short_dump(const Json& value) {
  return shorten(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

/// "must be of type integer and >= 1" from the schema of one field.
std::string rule_of(const Json& schema) {
  if (schema.contains("enum")) return "must be one of " + join(choices_of(schema), ", ");
  std::vector<std::string> parts;
  const std::string type = type_text(schema), range = range_text(schema);
  if (!type.empty()) parts.push_back("of type " + type);
  if (!range.empty()) parts.push_back(range);
  return "must be " + (parts.empty() ? std::string("valid") : join(parts, " and "));
}

/// `path` is the key's own, from the root of `schema`; `object` is the schema of what holds it.
std::string unknown_key_rule(const Json& schema, const Json& object, const std::string& path,
                             const std::string& prefix) {
  const std::string suggestion = path_suggestion(schema, path, prefix);
  if (!suggestion.empty()) return "unknown key; " + suggestion;
  return "unknown key; known keys: " + join(field_names(object), ", ");
}

}  // namespace

std::vector<Problem> schema_problems(const Json& document, const Json& schema,
                                     const std::string& prefix) {
  valijson::Schema compiled;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), compiled);
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  std::vector<Problem> problems;
  if (validator.validate(compiled, valijson::adapters::NlohmannJsonAdapter(document), &results)) {
    return problems;
  }

  // valijson reports the same failure once per enclosing object; the deepest context of each chain
  // is the field itself, and the rule is told from that field's schema rather than from valijson's
  // words.
  std::set<std::string> seen;
  valijson::ValidationResults::Error error;
  struct Place {
    std::vector<std::string> keys;
    std::string description;
  };
  std::vector<Place> places;
  while (results.popError(error)) {
    Place place;
    for (const std::string& context : error.context) {
      // "<root>", then "[key]" per level; a level may hold several: "[a][b]".
      size_t open = 0;
      while ((open = context.find('[', open)) != std::string::npos) {
        const size_t close = context.find(']', open);
        place.keys.push_back(context.substr(open + 1, close - open - 1));
        open = close;
      }
    }
    place.description = error.description;
    places.push_back(std::move(place));
  }
  for (const Place& place : places) {
    const bool has_deeper = std::any_of(places.begin(), places.end(), [&](const Place& other) {
      return other.keys.size() > place.keys.size() &&
             std::equal(place.keys.begin(), place.keys.end(), other.keys.begin());
    });
    const Json* schema_here = schema_at(schema, place.keys);
    const Json* value_here = &document;
    std::string path = prefix;
    for (const std::string& key : place.keys) {
      if (value_here) {
        if (value_here->is_array()) {
          value_here = &(*value_here)[static_cast<size_t>(std::stoul(key))];
        } else {
          value_here = value_here->contains(key) ? &(*value_here)[key] : nullptr;
        }
      }
      path += (path.empty() ? "" : ".") + key;
    }
    // An unknown key is reported on its object; name the keys themselves.
    bool named_unknown = false;
    if (schema_here && value_here && value_here->is_object() &&
        schema_here->value("additionalProperties", Json(true)) == Json(false)) {
      for (const auto& [key, value] : value_here->items()) {
        if ((*schema_here)["properties"].contains(key)) continue;
        const std::string full = path + (path.empty() ? "" : ".") + key;
        named_unknown = true;
        if (seen.insert(full).second) {
          std::vector<std::string> keys = place.keys;
          keys.push_back(key);
          problems.push_back({full, short_dump(value),
                              unknown_key_rule(schema, *schema_here, join(keys, "."), prefix)});
        }
      }
    }
    if (named_unknown || has_deeper) continue;
    if (!seen.insert(path).second) continue;
    problems.push_back({path.empty() ? "(the document)" : path,
                        value_here ? short_dump(*value_here) : "missing",
                        schema_here ? rule_of(*schema_here) : place.description});
  }
  check(!problems.empty(), "valijson refused a document without naming a reason");
  return problems;
}

void require_valid(const Json& document, const Json& schema, const std::string& subject) {
  std::vector<Problem> problems = schema_problems(document, schema);
  if (!problems.empty()) throw ConfigError(subject, std::move(problems));
}

}  // namespace windtunnel::base

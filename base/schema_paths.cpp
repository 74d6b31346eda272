#include "base/schema_paths.h"

#include <algorithm>

#include "base/text.h"

namespace windtunnel::base {
namespace {

/// The schema that governs one key of an object or one item of a list, or nullptr.
const Json* child(const Json& schema, const std::string& key) {
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->contains(key)) return &properties->at(key);
  for (const char* rest : {"additionalProperties", "items"}) {
    const auto found = schema.find(rest);
    if (found != schema.end() && found->is_object()) return &*found;
  }
  return nullptr;
}

void collect(const Json& schema, const std::string& prefix, std::vector<SchemaField>& fields) {
  for (const std::string& name : field_names(schema)) {
    const SchemaField field{prefix + name, &schema.at("properties").at(name)};
    fields.push_back(field);
    if (field.is_group()) collect(*field.schema, field.path + ".", fields);
  }
}

/// True if `full` has the parts of `asked` in their order and ends with the last of them.
bool stands_for(const std::vector<std::string>& asked, const std::vector<std::string>& full) {
  if (full.back() != asked.back()) return false;
  size_t matched = 0;
  for (size_t i = 0; i + 1 < full.size() && matched + 1 < asked.size(); ++i) {
    if (full[i] == asked[matched]) ++matched;
  }
  return matched + 1 == asked.size();
}

/// The path with each unknown part replaced by the nearest name in its place, or "".
std::string respelt(const Json& schema, const std::vector<std::string>& parts) {
  std::vector<std::string> walked;
  const Json* here = &schema;
  for (const std::string& part : parts) {
    const bool known = child(*here, part) != nullptr;
    walked.push_back(known ? part : nearest_word(part, field_names(*here)));
    here = walked.back().empty() ? nullptr : child(*here, walked.back());
    if (!here) return {};
  }
  return join(walked, ".");
}

std::vector<std::string> paths_of(const std::vector<SchemaField>& fields) {
  std::vector<std::string> paths;
  for (const SchemaField& field : fields) paths.push_back(field.path);
  return paths;
}

}  // namespace

bool SchemaField::is_group() const { return !field_names(*schema).empty(); }

std::vector<SchemaField> schema_fields(const Json& schema) {
  std::vector<SchemaField> fields;
  collect(schema, "", fields);
  return fields;
}

const Json* schema_at(const Json& schema, std::string_view path) {
  return schema_at(schema, split(path, '.'));
}

const Json* schema_at(const Json& schema, const std::vector<std::string>& parts) {
  const Json* here = &schema;
  for (const std::string& part : parts) {
    here = child(*here, part);
    if (!here) return nullptr;
  }
  return here;
}

std::vector<SchemaField> fields_named(const Json& schema, std::string_view path) {
  if (const Json* found = schema_at(schema, path)) return {{std::string(path), found}};
  const std::vector<std::string> asked = split(path, '.');
  std::vector<SchemaField> fields = schema_fields(schema);
  std::erase_if(
      fields, [&](const SchemaField& field) { return !stands_for(asked, split(field.path, '.')); });
  return fields;
}

std::vector<std::string> nearest_paths(const Json& schema, std::string_view path) {
  std::vector<std::string> parts = split(path, '.');
  if (const std::string spelt = respelt(schema, parts); !spelt.empty()) return {spelt};
  if (const auto named = fields_named(schema, path); !named.empty()) return paths_of(named);
  std::vector<std::string> names;
  for (const SchemaField& field : schema_fields(schema)) {
    names.push_back(split(field.path, '.').back());
  }
  // The right name, though the other parts lead nowhere; or the other parts and a nearly right one.
  std::string& last = parts.back();
  if (std::find(names.begin(), names.end(), last) != names.end()) {
    return paths_of(fields_named(schema, last));
  }
  last = nearest_word(last, names);
  return last.empty() ? std::vector<std::string>()
                      : paths_of(fields_named(schema, join(parts, ".")));
}

std::string path_suggestion(const Json& schema, std::string_view path, std::string_view prefix) {
  std::vector<std::string> quoted;
  for (const std::string& near : nearest_paths(schema, path)) {
    quoted.push_back("'" + std::string(prefix) + (prefix.empty() ? "" : ".") + near + "'");
  }
  return quoted.empty() ? "" : "did you mean " + join(quoted, " or ") + "?";
}

std::vector<std::string> field_names(const Json& schema) {
  std::vector<std::string> names;
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return names;
  for (const auto& [name, ignored] : properties->items()) names.push_back(name);
  return names;
}

std::string type_text(const Json& schema) {
  const auto type = schema.find("type");
  if (type == schema.end()) return {};
  if (!type->is_array()) return type->get<std::string>();
  return join(type->get<std::vector<std::string>>(), " or ");
}

std::string range_text(const Json& schema) {
  const std::pair<const char*, const char*> bounds[] = {{"minimum", ">= "},
                                                        {"exclusiveMinimum", "> "},
                                                        {"maximum", "<= "},
                                                        {"exclusiveMaximum", "< "}};
  std::vector<std::string> parts;
  for (const auto& [key, sign] : bounds) {
    if (schema.contains(key)) parts.push_back(sign + format_number(schema[key].get<double>()));
  }
  return join(parts, " and ");
}

std::vector<std::string> choices_of(const Json& schema) {
  const Json& holder = schema.contains("items") ? schema["items"] : schema;
  return holder.value("enum", std::vector<std::string>());
}

}  // namespace windtunnel::base

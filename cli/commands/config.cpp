// Everything a run configuration has: the schema, one field explained, two compared, one resolved.
// All of it comes from the described structs (base/config.h), so nothing here can fall behind.

#include <map>
#include <memory>
#include <set>

#include "base/schema_paths.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/configuration.h"
#include "study/run_config.h"

namespace windtunnel::cli {
namespace {

using base::Json;
using base::SchemaField;

struct Options {
  std::string config;
  std::vector<std::string> overrides;
  std::string explain;
  std::vector<std::string> diff;
  bool schema = false;
  bool json = false;
};

Json run_config_schema() {
  Json schema = base::schema_of<study::RunConfig>();
  schema["$schema"] = "http://json-schema.org/draft-07/schema#";
  schema["title"] = "Windtunnel run configuration";
  schema["description"] = "config.json of a run; every key has a default";
  return schema;
}

/// A value as one types it after path=.
std::string text_of(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : std::string();
  return text.empty() ? value.dump() : text;
}

std::string text_at(const Json& schema, const char* key) {
  return schema.contains(key) ? text_of(schema[key]) : "-";
}

// --- one field, or a group of them ---------------------------------------------------------------

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

/// "softmax, sigmoid", "> 0 and <= 10": which values of its type a field takes.
std::string allowed(const Json& schema) {
  const std::vector<std::string> choices = base::choices_of(schema);
  return choices.empty() ? base::range_text(schema) : base::join(choices, ", ");
}

std::string explain_leaf(const Json& root, const SchemaField& field) {
  const Json& schema = *field.schema;
  std::vector<std::vector<std::string>> rows = {
      {"  meaning", text_at(schema, "description")}, {"  type", or_dash(base::type_text(schema))},
      {"  unit", text_at(schema, "x-unit")},         {"  values", or_dash(allowed(schema))},
      {"  default", text_at(schema, "default")},     {"  source", text_at(schema, "x-source")}};
  // A kind's own options lie beside the field that chooses it, under its name, and say what it is.
  const size_t dot = field.path.rfind('.');
  const Json* parent = dot == std::string::npos
                           ? &root
                           : base::schema_at(root, std::string_view(field.path).substr(0, dot));
  for (const std::string& choice : base::choices_of(schema)) {
    const Json* kind = base::schema_at(*parent, choice);
    if (kind) rows.push_back({"  " + choice, text_at(*kind, "description")});
  }
  return field.path + "\n" + base::format_table(rows);
}

std::string explain_group(const SchemaField& group) {
  std::vector<std::vector<std::string>> rows = {
      {"field", "default", "values", "unit", "meaning", "source"}};
  for (const SchemaField& field : base::schema_fields(*group.schema)) {
    if (field.is_group()) continue;
    rows.push_back({group.path + "." + field.path, text_at(*field.schema, "default"),
                    or_dash(allowed(*field.schema)), text_at(*field.schema, "x-unit"),
                    text_at(*field.schema, "description"), text_at(*field.schema, "x-source")});
  }
  std::string heading = group.path + ": " + text_at(*group.schema, "description");
  const std::string source = text_at(*group.schema, "x-source");
  if (source != "-") heading += " (" + source + ")";
  return heading + "\n\n" + base::format_table(rows);
}

int explain(const Options& options) {
  const Json schema = run_config_schema();
  const std::vector<SchemaField> fields = base::fields_named(schema, options.explain);
  if (fields.empty()) {
    const std::string near = base::path_suggestion(schema, options.explain);
    throw base::UsageError("path '" + options.explain + "' does not exist; " +
                           (near.empty() ? "windtunnel config --explain names the fields of a "
                                           "group, one of " +
                                               base::join(base::field_names(schema), ", ")
                                         : near));
  }
  if (options.json) {
    Json array = Json::array();
    for (const SchemaField& field : fields) {
      array.push_back({{"path", field.path}, {"schema", *field.schema}});
    }
    print(array);
    return base::kExitDone;
  }
  std::vector<std::string> texts;
  for (const SchemaField& field : fields) {
    texts.push_back(field.is_group() ? explain_group(field) : explain_leaf(schema, field));
  }
  print(base::join(texts, "\n"));
  return base::kExitDone;
}

// --- configurations ------------------------------------------------------------------------------

Json resolved(const std::string& name, const std::vector<std::string>& overrides) {
  return base::to_json(study::resolve_run_config(read_config(name, overrides), name));
}

void collect_leaves(const Json& value, const std::string& path,
                    std::map<std::string, Json>& leaves) {
  if (!value.is_object() || value.empty()) {
    leaves[path] = value;
    return;
  }
  for (const auto& [key, item] : value.items()) {
    collect_leaves(item, path.empty() ? key : path + "." + key, leaves);
  }
}

int diff(const Options& options) {
  std::map<std::string, Json> leaves[2];
  std::set<std::string> paths;
  for (int side = 0; side < 2; ++side) {
    collect_leaves(resolved(options.diff[static_cast<size_t>(side)], {}), "", leaves[side]);
    for (const auto& [path, ignored] : leaves[side]) paths.insert(path);
  }
  std::vector<std::vector<std::string>> rows = {{"path", options.diff[0], options.diff[1]}};
  Json array = Json::array();
  for (const std::string& path : paths) {
    const auto a = leaves[0].find(path), b = leaves[1].find(path);
    const Json* values[] = {a == leaves[0].end() ? nullptr : &a->second,
                            b == leaves[1].end() ? nullptr : &b->second};
    if (values[0] && values[1] && *values[0] == *values[1]) continue;
    rows.push_back({path});
    for (const Json* value : values) rows.back().push_back(value ? text_of(*value) : "-");
    array.push_back({{"path", path},
                     {"a", values[0] ? *values[0] : Json(nullptr)},
                     {"b", values[1] ? *values[1] : Json(nullptr)}});
  }
  if (options.json) {
    print(array);
  } else {
    print(array.empty() ? "no difference" : base::format_table(rows));
  }
  return base::kExitDone;
}

int config(const Options& options) {
  const int asked =
      options.schema + !options.explain.empty() + !options.diff.empty() + !options.config.empty();
  if (asked != 1) {
    throw base::UsageError(
        "config needs one of: CONFIG (printed resolved), --schema, --explain PATH, --diff A B");
  }
  if (options.schema) {
    print(run_config_schema());
    return base::kExitDone;
  }
  if (!options.explain.empty()) return explain(options);
  if (!options.diff.empty()) return diff(options);
  print(resolved(options.config, options.overrides));
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("config", options->config, kConfigurationHelp);
  add_overrides(app, options->overrides);
  app.add_flag("--schema", options->schema, "the JSON Schema (draft 7) of a run configuration");
  app.add_option("--explain", options->explain,
                 "what a field means, its unit, range, default and source; of a group, a table of "
                 "its fields; parts of the path but the last may be left out")
      ->type_name("PATH");
  app.add_option("--diff", options->diff, "in which fields two resolved configurations differ")
      ->expected(2)
      ->type_name("A B");
  app.add_flag("--json", options->json,
               "print JSON instead of a table; schemas and configurations are JSON anyway");
  return [options] { return config(*options); };
}

const base::Registration<Command> registration{
    {.name = "config",
     .summary = "a configuration resolved, compared, or explained field by field",
     .entry = {.group = "Looking",
               .example = "windtunnel config --explain model.layers.E.router.bias_step",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include "agent/research_space.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace windtunnel::agent {

using base::Json;
using base::Problem;

namespace {

const Json& run_config_schema() {
  static const Json schema = base::schema_of<study::RunConfig>();
  return schema;
}

bool covers(const std::string& prefix, std::string_view path) {
  return path == prefix || (path.starts_with(prefix) && path[prefix.size()] == '.');
}

/// The schema of one key, or nullptr.
const Json* child(const Json& schema, const std::string& key) {
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->contains(key)) return &(*properties)[key];
  const auto rest = schema.find("additionalProperties");
  if (rest != schema.end() && rest->is_object()) return &*rest;
  return nullptr;
}

std::vector<std::string> child_names(const Json& schema) {
  std::vector<std::string> names;
  const auto properties = schema.find("properties");
  if (properties != schema.end()) {
    for (const auto& [name, ignored] : properties->items()) names.push_back(name);
  }
  return names;
}

void collect_leaves(const Json& schema, const std::string& path, std::vector<std::string>& leaves) {
  const std::vector<std::string> names = child_names(schema);
  if (names.empty()) leaves.push_back(path);
  for (const std::string& name : names) {
    collect_leaves(schema["properties"][name], path.empty() ? name : path + "." + name, leaves);
  }
}

std::string short_dump(const Json& value) {
  return base::shorten(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

}  // namespace

const std::vector<std::string>& always_frozen() {
  static const std::vector<std::string> prefixes = {
      "data",         "evaluation",   "model.vocabulary_size",
      "train.budget", "train.device", "train.precision",
      "train.seed",   "train.threads"};
  return prefixes;
}

const std::string* frozen_by(const Program& program, std::string_view path) {
  for (const auto* prefixes : {&always_frozen(), &program.frozen}) {
    for (const std::string& prefix : *prefixes) {
      if (covers(prefix, path)) return &prefix;
    }
  }
  return nullptr;
}

const MutablePath* find_mutable(const Program& program, std::string_view path) {
  if (frozen_by(program, path)) return nullptr;
  for (const MutablePath& entry : program.mutable_paths) {
    if (entry.path == path) return &entry;
  }
  return nullptr;
}

bool is_mutable(const Program& program, std::string_view path) {
  return find_mutable(program, path) != nullptr;
}

std::optional<std::string> value_problem(const MutablePath& entry, const Json& value) {
  if (!entry.choices.empty()) {
    if (std::find(entry.choices.begin(), entry.choices.end(), value) != entry.choices.end()) {
      return std::nullopt;
    }
    std::vector<std::string> choices;
    for (const Json& choice : entry.choices) choices.push_back(choice.dump());
    return "must be one of " + base::join(choices, ", ");
  }
  if (value.is_number() && value.get<double>() >= *entry.minimum &&
      value.get<double>() <= *entry.maximum) {
    return std::nullopt;
  }
  return "must be a number >= " + base::format_number(*entry.minimum) +
         " and <= " + base::format_number(*entry.maximum);
}

std::vector<Problem> patch_problems(const Program& program, const Json& patch) {
  std::vector<Problem> problems;
  if (!patch.is_object() || patch.empty()) {
    return {{"patch", short_dump(patch), "must be an object with at least one path"}};
  }
  for (const auto& [path, value] : patch.items()) {
    if (const std::string* prefix = frozen_by(program, path)) {
      problems.push_back({path, short_dump(value), "is frozen by '" + *prefix + "'"});
    } else if (const MutablePath* entry = find_mutable(program, path)) {
      if (auto rule = value_problem(*entry, value)) {
        problems.push_back({path, short_dump(value), *rule});
      }
    } else {
      std::vector<std::string> paths;
      for (const MutablePath& known : program.mutable_paths) paths.push_back(known.path);
      problems.push_back(
          {path, short_dump(value), "is not one of the mutable paths: " + base::join(paths, ", ")});
    }
  }
  return problems;
}

std::optional<Json> run_config_schema_at(std::string_view path) {
  const Json* schema = &run_config_schema();
  for (const std::string& key : base::split(path, '.')) {
    schema = child(*schema, key);
    if (!schema) return std::nullopt;
  }
  return *schema;
}

std::string path_suggestion(std::string_view path) {
  // A slip inside one part: walk, taking the nearest name where a part is unknown.
  const Json* schema = &run_config_schema();
  std::vector<std::string> walked;
  std::vector<std::string> known_here;
  bool complete = true;
  for (const std::string& key : base::split(path, '.')) {
    const Json* next = child(*schema, key);
    std::string taken = key;
    if (!next) {
      if (known_here.empty()) known_here = child_names(*schema);
      taken = base::nearest_word(key, child_names(*schema));
      next = taken.empty() ? nullptr : child(*schema, taken);
    }
    if (!next) {
      complete = false;
      break;
    }
    walked.push_back(taken);
    schema = next;
  }
  if (complete) return "did you mean '" + base::join(walked, ".") + "'?";
  // The right name in the wrong place: the same last part elsewhere.
  std::vector<std::string> leaves;
  collect_leaves(run_config_schema(), "", leaves);
  const std::string last = base::split(path, '.').back();
  std::vector<std::string> same;
  for (const std::string& leaf : leaves) {
    if (base::split(leaf, '.').back() == last) same.push_back("'" + leaf + "'");
  }
  if (!same.empty()) return "did you mean " + base::join(same, " or ") + "?";
  if (known_here.empty()) return "nothing lies below it";
  return "known here: " + base::join(known_here, ", ");
}

Candidate make_candidate(const Program& program, const Json& incumbent, const Json& patch) {
  Candidate candidate;
  try {
    const Json document = base::apply_patch(base::merge(program.base, incumbent), patch);
    candidate.config = study::resolve_run_config(document, "the proposal");
    candidate.fingerprint = study::config_fingerprint(*candidate.config);
    candidate.resolved = base::to_json(*candidate.config);
    candidate.resolved["train"].erase("seed");
  } catch (const base::Error& error) {
    candidate = {};
    candidate.problem = error.what();
  }
  return candidate;
}

}  // namespace windtunnel::agent

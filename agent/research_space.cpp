#include "agent/research_space.h"

#include <algorithm>
#include <cmath>

#include "base/schema_paths.h"
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
  const Json* schema = base::schema_at(run_config_schema(), path);
  return schema ? std::optional(*schema) : std::nullopt;
}

std::string path_suggestion(std::string_view path) {
  const std::string suggestion = base::path_suggestion(run_config_schema(), path);
  if (!suggestion.empty()) return suggestion;
  // The names at the first part that is wrong.
  const Json* here = &run_config_schema();
  for (const std::string& part : base::split(path, '.')) {
    const Json* next = base::schema_at(*here, part);
    if (!next) break;
    here = next;
  }
  const std::vector<std::string> known = base::field_names(*here);
  return known.empty() ? "nothing lies below it" : "known here: " + base::join(known, ", ");
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

Candidate baseline_candidate(const Program& program, const Json& incumbent) {
  const Json nothing = Json::object();
  return make_candidate(program, {{"data", incumbent.value("data", nothing)}}, nothing);
}

}  // namespace windtunnel::agent

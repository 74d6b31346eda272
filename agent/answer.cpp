#include "agent/answer.h"

#include <algorithm>

#include "agent/fenced.h"
#include "agent/research_space.h"
#include "agent/veto.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;
using base::Problem;

namespace {

constexpr size_t kMaxChangedPaths = 4;
constexpr size_t kMaxWords = 2000;

/// Of a proposal, from the fields it lists.
Json proposal_schema() {
  Json schema = base::schema_of<study::Proposal>();
  for (const char* field : study::Proposal::kSetByHarness) schema["properties"].erase(field);
  return schema;
}

Json reflection_schema() {
  Json schema = base::schema_of<study::Reflection>();
  schema["description"] = "your word about your last experiment, whose outcome is in the record";
  return schema;
}

/// Calls `change` with every field's schema, objects within objects first.
template <class Change>
void for_each_field(Json& schema, const Change& change) {
  for (auto& [name, field] : schema["properties"].items()) {
    if (field.contains("properties")) for_each_field(field, change);
    change(field);
  }
}

bool may_be_null(const Json& field) { return field.contains("type") && field["type"].is_array(); }

Json value_schema(const MutablePath& entry) {
  Json schema = run_config_schema_at(entry.path).value_or(Json::object());
  for (const char* key : {"exclusiveMinimum", "exclusiveMaximum"}) schema.erase(key);
  if (entry.choices.empty()) {
    schema["minimum"] = *entry.minimum;
    schema["maximum"] = *entry.maximum;
  } else {
    schema["enum"] = entry.choices;
  }
  return schema;
}

Json patch_schema(const Program& program) {
  Json paths = Json::object();
  for (const MutablePath& entry : program.mutable_paths) paths[entry.path] = value_schema(entry);
  return {{"type", "object"},
          {"description", "path -> new value; change one thing, at most four"},
          {"additionalProperties", false},
          {"minProperties", 1},
          {"maxProperties", kMaxChangedPaths},
          {"properties", paths}};
}

void require_all(Json& schema) {
  schema["required"] = Json::array();
  for (const auto& [name, field] : schema["properties"].items()) {
    schema["required"].push_back(name);
    if (name != "patch" && field.contains("properties")) require_all(schema["properties"][name]);
  }
}

/// Missing fields named one by one; the schema would only name the object around them.
void find_missing(const Json& json, const Json& schema, const std::string& prefix,
                  std::vector<std::string>& errors) {
  for (const auto& [name, field] : schema.at("properties").items()) {
    const bool is_there = json.contains(name);
    const bool is_optional =
        std::find(study::Proposal::kOptional.begin(), study::Proposal::kOptional.end(), name) !=
        study::Proposal::kOptional.end();
    if (!is_there && !is_optional && !may_be_null(field))
      errors.push_back(prefix + name + ": is missing");
    if (is_there && field.contains("properties") && json[name].is_object()) {
      find_missing(json[name], field, prefix + name + ".", errors);
    }
  }
}

}  // namespace

const study::Experiment* to_reflect_on(const ProposalContext& context) {
  const std::vector<study::Experiment>& history = context.history;
  for (auto place = history.rbegin(); place != history.rend(); ++place) {
    if (place->proposal.author() != context.author || !place->decision) continue;
    return place->reflection ? nullptr : &*place;
  }
  return nullptr;
}

Json answer_schema(const Program& program, bool words, bool with_reflection) {
  Json schema = proposal_schema();
  schema["properties"]["patch"] = patch_schema(program);
  if (with_reflection) schema["properties"]["reflection"] = reflection_schema();
  for_each_field(schema, [&](Json& field) {
    for (const char* key : {"default", "x-unit", "x-source"}) field.erase(key);
    if (!words) field.erase("description");
    if (may_be_null(field) && !field.contains("enum")) field["type"] = field["type"].front();
    if (field.value("type", "") == "string" && !field.contains("enum")) field["minLength"] = 1;
  });
  require_all(schema);
  return schema;
}

std::variant<Answer, std::vector<std::string>> read_answer(const std::string& answer,
                                                           const ProposalContext& context) {
  std::vector<std::string> errors;
  const auto object = object_in(answer);
  if (const auto* problem = std::get_if<std::string>(&object)) {
    return std::vector<std::string>{*problem};
  }
  const Json& json = std::get<Json>(object);
  Json schema = proposal_schema();
  // Values of the patch are told in the program's words below.
  schema["properties"]["patch"] = {{"type", "object"}, {"maxProperties", kMaxChangedPaths}};
  for_each_field(schema, [](Json& field) {
    if (field.value("type", Json()) != "string" || field.contains("enum")) return;
    field["minLength"] = 1;
    field["maxLength"] = kMaxWords;
  });
  schema["properties"]["revisit_if"].erase("minLength");
  schema["properties"]["family"].erase("minLength");
  find_missing(json, schema, "", errors);
  schema["properties"]["reflection"] = reflection_schema();
  for (const Problem& problem : base::schema_problems(json, schema)) {
    errors.push_back(problem.text());
  }
  if (!errors.empty()) return errors;

  Answer result{.proposal = base::from_trusted_json<study::Proposal>(json), .reflection = {}};
  const study::Proposal& proposal = result.proposal;
  if (json.contains("reflection")) {
    result.reflection = base::from_trusted_json<study::Reflection>(json["reflection"]);
  }
  const study::Prediction& prediction = proposal.prediction;
  if (!(prediction.interval_low < prediction.interval_high) ||
      prediction.delta_bits_per_byte < prediction.interval_low ||
      prediction.delta_bits_per_byte > prediction.interval_high) {
    errors.push_back(
        "prediction: must have interval_low <= delta_bits_per_byte <= interval_high, and an "
        "interval wider than 0");
  }
  const Candidate candidate = make_candidate(context.program, context.incumbent, proposal.patch);
  for (const Refusal& refusal : refusals(BeforeRun{context.program, context.incumbent,
                                                   context.history, proposal.patch, candidate})) {
    errors.push_back("patch: " + refusal.veto + ": " + refusal.reason);
  }
  if (!errors.empty()) return errors;
  return result;
}

}  // namespace windtunnel::agent

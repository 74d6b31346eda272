#include "agent/program.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "agent/front_matter.h"
#include "agent/proposer.h"
#include "agent/research_space.h"
#include "base/files.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;
using base::Problem;

namespace {

std::string short_dump(const Json& value) {
  return base::shorten(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

void add_prefixed(std::vector<Problem>& problems, std::vector<Problem> found,
                  const std::string& prefix) {
  for (Problem& problem : found) {
    problem.path = prefix + "." + problem.path;
    problems.push_back(std::move(problem));
  }
}

void check_head(const Program& program, std::vector<Problem>& problems) {
  const bool is_name =
      !program.name.empty() &&
      std::all_of(program.name.begin(), program.name.end(), [](unsigned char letter) {
        return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
      });
  if (!is_name) {
    problems.push_back({"name", Json(program.name).dump(),
                        "must be given, of letters, digits, - and _: it names the study's folder"});
  }
  if (program.corpus.recipe.empty() == program.corpus.folder.empty()) {
    problems.push_back({"corpus", short_dump(base::to_json(program.corpus)),
                        "must have exactly one of `recipe` and `folder`"});
  }
  if (program.decision.min_pairs > program.decision.max_pairs) {
    problems.push_back(
        {"decision.min_pairs", std::to_string(program.decision.min_pairs),
         "must be at most decision.max_pairs = " + std::to_string(program.decision.max_pairs)});
  }
}

/// Returns the resolved baseline, or null if it is illegal.
Json check_base(const Program& program, std::vector<Problem>& problems) {
  const size_t before = problems.size();
  for (const char* owned : {"data.corpus", "train.seed"}) {
    if (const Json* value = base::find_path(program.base, owned)) {
      problems.push_back({std::string("base.") + owned, short_dump(*value),
                          "is filled in by the harness; remove it"});
    }
  }
  try {
    const Json resolved = base::to_json(study::resolve_run_config(program.base, "base"));
    if (problems.size() == before) return resolved;
  } catch (const base::ConfigError& error) {
    add_prefixed(problems, error.problems, "base");
  }
  return nullptr;
}

/// Numbers of a schema's own range that a mutable range leaves.
void check_range(const MutablePath& entry, const Json& schema, const std::string& at,
                 std::vector<Problem>& problems) {
  const std::string type = schema.value("type", Json("")).dump();
  if (type.find("number") == std::string::npos && type.find("integer") == std::string::npos) {
    problems.push_back({at, Json(entry.path).dump(), "is no number, so it needs `choices`"});
    return;
  }
  if (*entry.minimum >= *entry.maximum) {
    problems.push_back({at + ".minimum", base::format_number(*entry.minimum),
                        "must be below maximum = " + base::format_number(*entry.maximum)});
  }
  if (entry.scale == "log" && *entry.minimum <= 0) {
    problems.push_back(
        {at + ".minimum", base::format_number(*entry.minimum), "must be > 0 on a log scale"});
  }
  for (const auto& [end, value] :
       {std::pair{".minimum", *entry.minimum}, {".maximum", *entry.maximum}}) {
    const Json json = value == std::floor(value) && std::abs(value) < 1e15
                          ? Json(static_cast<int64_t>(value))
                          : Json(value);
    for (Problem& problem : base::schema_problems(json, schema)) {
      problems.push_back({at + end, problem.value, problem.rule + " (" + entry.path + ")"});
    }
  }
}

void check_choices(const MutablePath& entry, const Json& schema, const std::string& at,
                   std::vector<Problem>& problems) {
  for (size_t i = 0; i < entry.choices.size(); ++i) {
    for (Problem& problem : base::schema_problems(entry.choices[i], schema)) {
      problems.push_back({at + ".choices." + std::to_string(i), short_dump(entry.choices[i]),
                          problem.rule + " (" + entry.path + ")"});
    }
  }
}

/// Checks the mutable and frozen paths and fills in choices that the schema lists.
void check_space(Program& program, std::vector<Problem>& problems) {
  for (size_t i = 0; i < program.frozen.size(); ++i) {
    if (run_config_schema_at(program.frozen[i])) continue;
    problems.push_back(
        {"frozen." + std::to_string(i), Json(program.frozen[i]).dump(),
         "is no path of a run configuration; " + path_suggestion(program.frozen[i])});
  }
  for (size_t i = 0; i < program.mutable_paths.size(); ++i) {
    MutablePath& entry = program.mutable_paths[i];
    const std::string at = "mutable." + std::to_string(i);
    const std::string value = Json(entry.path).dump();
    const auto schema = run_config_schema_at(entry.path);
    if (!schema) {
      problems.push_back({at + ".path", value,
                          "is no path of a run configuration; " + path_suggestion(entry.path)});
      continue;
    }
    if (schema->value("type", "") == "object") {
      problems.push_back(
          {at + ".path", value, "is a group of settings; name one setting below it"});
      continue;
    }
    if (const std::string* prefix = frozen_by(program, entry.path)) {
      const auto& fixed = always_frozen();
      const bool is_fixed = std::find(fixed.begin(), fixed.end(), *prefix) != fixed.end();
      problems.push_back({at + ".path", value,
                          is_fixed ? "cannot be mutable: '" + *prefix +
                                         "' decides what is compared and is always frozen"
                                   : "is frozen by '" + *prefix + "'; remove one of the two"});
      continue;
    }
    const auto same_path = [&](const MutablePath& other) { return other.path == entry.path; };
    if (std::count_if(program.mutable_paths.begin(),
                      program.mutable_paths.begin() + static_cast<std::ptrdiff_t>(i),
                      same_path) > 0) {
      problems.push_back({at + ".path", value, "is listed twice"});
    }
    if (entry.choices.empty() && !entry.minimum && !entry.maximum) {
      if (schema->contains("enum")) entry.choices = (*schema)["enum"].get<std::vector<Json>>();
      if (schema->value("type", Json()) == "boolean") entry.choices = {false, true};
    }
    if (entry.choices.empty() == !entry.has_range()) {
      problems.push_back({at, value, "must have either `choices` or both `minimum` and `maximum`"});
    } else if (entry.has_range()) {
      check_range(entry, *schema, at, problems);
    } else {
      check_choices(entry, *schema, at, problems);
    }
  }
}

/// Fills in the options' defaults, so that a stored program says all that was in force.
void check_proposers(Program& program, std::vector<Problem>& problems) {
  if (program.proposers.empty()) {
    problems.push_back(
        {"proposers", "[]",
         "must name at least one of " + base::join(ProposerKinds::instance().names(), ", ")});
  }
  for (size_t i = 0; i < program.proposers.size(); ++i) {
    Json& entry = program.proposers[i];
    const std::string at = "proposers." + std::to_string(i);
    if (!entry.contains("kind")) {
      problems.push_back({at + ".kind", "missing",
                          "must be one of " + base::join(ProposerKinds::instance().names(), ", ")});
      continue;
    }
    const auto& kind = ProposerKinds::instance().get(entry["kind"].get<std::string>(), "proposer");
    Json options = entry;
    options.erase("kind");
    options.erase("share");
    const size_t before = problems.size();
    for (Problem& problem : base::schema_problems(options, kind.options, at)) {
      problems.push_back(std::move(problem));
    }
    if (problems.size() > before) continue;
    Json defaults = {{"share", 1}};
    for (const auto& [name, schema] : kind.options["properties"].items()) {
      if (schema.contains("default")) defaults[name] = schema["default"];
    }
    entry = base::merge(defaults, entry);
    options = base::merge(defaults, options);
    options.erase("share");
    if (kind.entry.problems) add_prefixed(problems, kind.entry.problems(options), at);
  }
}

void check_queue(const Program& program, const Json& baseline, std::vector<Problem>& problems) {
  for (size_t i = 0; i < program.queue.size(); ++i) {
    const study::Proposal& idea = program.queue[i];
    const std::string at = "queue." + std::to_string(i);
    for (const auto& [name, words] :
         {std::pair{".hypothesis", &idea.hypothesis}, {".diagnostic", &idea.diagnostic}}) {
      if (base::trim(*words).empty()) {
        problems.push_back({at + name, "missing", "must be one sentence"});
      }
    }
    const study::Prediction& prediction = idea.prediction;
    if (!(prediction.interval_low < prediction.interval_high) ||
        prediction.delta_bits_per_byte < prediction.interval_low ||
        prediction.delta_bits_per_byte > prediction.interval_high) {
      problems.push_back({at + ".prediction", short_dump(base::to_json(prediction)),
                          "must have interval_low <= delta_bits_per_byte <= interval_high, and an "
                          "interval wider than 0"});
    }
    if (!idea.proposer.empty()) {
      problems.push_back({at + ".proposer", idea.proposer, "is set by the harness; remove it"});
    }
    std::vector<Problem> found = patch_problems(program, idea.patch);
    const bool in_space = found.empty();
    add_prefixed(problems, std::move(found), at + ".patch");
    if (!in_space || baseline.is_null()) continue;
    const Candidate candidate = make_candidate(program, baseline, idea.patch);
    if (!candidate.config) {
      problems.push_back({at + ".patch", short_dump(idea.patch), candidate.problem});
    }
  }
}

void check_ladder(const Program& program, const Json& baseline, std::vector<Problem>& problems) {
  if (program.ladder.rungs.empty() || baseline.is_null()) return;
  try {
    scaling::plan_ladder(base::from_trusted_json<study::RunConfig>(baseline), program.ladder);
  } catch (const base::ConfigError& error) {
    problems.insert(problems.end(), error.problems.begin(), error.problems.end());
  }
}

}  // namespace

Json proposer_entry_schema() {
  return {{"type", "object"},
          {"properties",
           {{"kind",
             {{"type", "string"},
              {"description", "which proposer"},
              {"enum", ProposerKinds::instance().names()}}},
            {"share",
             {{"type", "number"},
              {"description", "of the experiments, relative to the other proposers"},
              {"exclusiveMinimum", 0},
              {"default", 1}}}}}};
}

Program stored_program(Json document, const std::vector<std::string>& overrides) {
  for (const std::string& assignment : overrides) base::apply_override(document, assignment);
  std::vector<Problem> problems = base::schema_problems(document, base::schema_of<Program>());
  if (!problems.empty()) throw base::ConfigError("the study's program", std::move(problems));
  return base::from_trusted_json<Program>(document);
}

Program parse_program(std::string_view markdown, const std::string& subject,
                      const std::vector<std::string>& overrides) {
  FrontMatter front = parse_front_matter(markdown, subject);
  for (const std::string& assignment : overrides) {
    base::apply_override(front.document, assignment);
  }
  std::vector<Problem> problems = base::schema_problems(front.document, base::schema_of<Program>());
  if (front.document.contains("prose")) {
    problems.push_back({"prose", short_dump(front.document["prose"]),
                        "is the text below the front matter; move it there"});
  }
  if (!problems.empty()) throw front.error(subject, std::move(problems));

  auto program = base::from_trusted_json<Program>(front.document);
  program.prose = front.prose;
  check_head(program, problems);
  const Json baseline = check_base(program, problems);
  check_space(program, problems);
  check_proposers(program, problems);
  check_ladder(program, baseline, problems);
  // Ideas are checked against a space that is sound itself.
  if (problems.empty()) check_queue(program, baseline, problems);
  if (!problems.empty()) throw front.error(subject, std::move(problems));
  return program;
}

Program read_program(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  return parse_program(base::read_file(file), file.string(), overrides);
}

}  // namespace windtunnel::agent

WINDTUNNEL_COMPILE_FIELDS(, windtunnel::agent::Program)

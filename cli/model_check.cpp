#include "cli/model_check.h"

#include <cstdlib>
#include <vector>

#include "agent/model_profile.h"
#include "agent/program.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/places.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

using agent::ChatOptions;
using agent::ModelProfile;
using base::Json;

std::string from_environment(const Json& entry, const char* name, const char* variable) {
  const std::string named = entry.value(variable, "");
  const char* value = named.empty() ? nullptr : std::getenv(named.c_str());
  return value && *value ? value : entry.value(name, "");
}

/// The language models of a program, with what the environment replaces.
std::vector<ChatOptions> models_of(const std::string& name) {
  const agent::Program program = agent::read_program(find_program(name), {});
  std::vector<ChatOptions> models;
  for (const Json& entry : program.proposers) {
    if (entry.value("kind", "") != "language_model") continue;
    ChatOptions options = base::from_trusted_json<ChatOptions>(entry);
    options.endpoint = from_environment(entry, "endpoint", "endpoint_variable");
    options.model = from_environment(entry, "model", "model_variable");
    models.push_back(std::move(options));
  }
  if (models.empty()) throw base::UsageError("program '" + name + "' has no language model");
  return models;
}

std::vector<ChatOptions> models_to_check(const ModelCheck& check) {
  if (!check.program.empty()) return models_of(check.program);
  if (check.endpoint.empty() || check.model.empty()) {
    throw base::UsageError(
        "doctor --llm needs --endpoint and --model, or a --program that names them; e.g. "
        "windtunnel "
        "doctor --llm --endpoint http://127.0.0.1:8080/v1 --model NAME");
  }
  ChatOptions options;
  options.endpoint = check.endpoint;
  options.model = check.model;
  options.api = check.api;
  options.key_variable = check.key_variable;
  options.key_file = check.key_file;
  options.timeout_seconds = check.timeout_seconds;
  return {options};
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string table_of(const ModelProfile& profile) {
  std::vector<std::vector<std::string>> rows = {
      {"language model", profile.model},
      {"endpoint", profile.endpoint},
      {"works", profile.works() ? "yes, by " + profile.api : "NO: " + profile.problem}};
  if (profile.works()) {
    rows.insert(
        rows.end(),
        {{"server", profile.server},
         {"streaming", yes_or_no(profile.streaming)},
         {"structured output", profile.structured},
         {"limit of tokens",
          profile.token_limit.empty() ? "ignored by the server" : profile.token_limit},
         {"usage reported", yes_or_no(profile.reports_usage) + ", in streams " +
                                yes_or_no(profile.reports_usage_in_streams)},
         {"context", profile.context_tokens ? std::to_string(*profile.context_tokens) + " tokens"
                                            : "not told by the server"}});
  }
  return base::format_table(rows);
}

void keep(const ModelCheck& check, const Json& profiles) {
  study::Journal journal(find_study(check.study) / "journal.db");
  Json known = journal.fact(agent::kProfilesFact).value_or(Json::object());
  known.update(profiles);
  journal.set_fact(agent::kProfilesFact, known);
}

}  // namespace

void add_model_options(CLI::App& app, ModelCheck& check) {
  app.add_option("--program", check.program, "check the language models of this program");
  app.add_option("--endpoint", check.endpoint, "address, e.g. http://127.0.0.1:8080/v1");
  app.add_option("--model", check.model, "name the server knows the model by");
  app.add_option("--key-variable", check.key_variable, "environment variable that holds the key");
  app.add_option("--key-file", check.key_file, "file that holds the key");
  app.add_option("--api", check.api, "chat_completions, responses, messages, or auto");
  app.add_option("--timeout", check.timeout_seconds, "deadline of one question, in seconds");
  app.add_option("--study", check.study, "keep what is found in this study");
}

int check_models(const ModelCheck& check, bool json) {
  base::Progress progress;
  Json profiles = Json::object();
  bool all_work = true;
  for (const ChatOptions& options : models_to_check(check)) {
    agent::ChatHooks hooks;
    hooks.on_wait = [&](const agent::Waiting& waiting) {
      progress.update(std::nullopt, waiting.what + " " + options.model + ", " +
                                        base::format_duration(waiting.seconds_so_far) +
                                        " of at most " +
                                        base::format_duration(waiting.limit_seconds));
    };
    const ModelProfile profile = agent::probe_model(options, hooks);
    progress.clear();
    all_work = all_work && profile.works();
    if (profile.works()) profiles[agent::profile_key(options)] = base::to_json(profile);
    if (json) {
      print(base::to_json(profile));
    } else {
      print(table_of(profile));
    }
  }
  if (!check.study.empty()) keep(check, profiles);
  return all_work ? base::kExitDone : base::kExitFailed;
}

}  // namespace windtunnel::cli

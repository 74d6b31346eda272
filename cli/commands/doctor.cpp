#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "base/child_process.h"
#include "base/file_access.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/model_check.h"
#include "cli/places.h"
#include "study/runner.h"

namespace windtunnel::cli {
namespace fs = std::filesystem;
namespace {

struct Finding {
  std::string what;
  bool ok;
  std::string text;
};

/// What a command prints, or nullopt if it fails or takes longer than half a minute.
std::optional<std::string> output_of(const std::vector<std::string>& command) {
  const fs::path file = fs::temp_directory_path() / fmt::format("windtunnel-doctor-{}", ::getpid());
  std::optional<std::string> text;
  try {
    if (base::run_child({.command = command, .output_file = file}, std::chrono::seconds(30)).ok()) {
      text = base::read_file(file);
    }
  } catch (const base::Error&) {
    // It cannot be started: the same answer as failing.
  }
  fs::remove(file);
  return text;
}

Finding check_trainer() {
  try {
    const auto text = output_of({study::trainer_program().string(), "device", "--json"});
    if (!text)
      return {"trainer", false, "windtunnel-train does not start; run ./windtunnel to rebuild it"};
    const base::Json device = base::parse_json(*text, "windtunnel-train device");
    return {"trainer", true, device.dump()};
  } catch (const base::Error& error) {
    return {"trainer", false, error.what()};
  }
}

Finding check_tool(const std::string& name, const std::vector<std::string>& command,
                   const std::string& without) {
  const auto text = output_of(command);
  if (!text) return {name, false, without};
  return {name, true, std::string(base::trim(base::split(*text, '\n').front()))};
}

std::vector<Finding> examine() {
  std::vector<Finding> findings{check_trainer()};
  findings.push_back(
      check_tool("figures", {"gnuplot", "--version"},
                 "gnuplot is not there: reports have tables only; apt-get install gnuplot-nox"));
  findings.push_back(
      check_tool("packages", {"apt-get", "--version"},
                 "apt-get is not there: build corpora with windtunnel corpus --files"));
  const auto free = static_cast<double>(base::free_bytes(home()));
  findings.push_back(
      {"disk", free > 2e9, base::format_count(free) + "B free for logs/ and corpora"});
  findings.push_back(
      {"file rules", true,
       base::can_restrict_files()
           ? "landlock: training cannot read held-out text or change other files than its own"
           : "none: this kernel has no Landlock (Linux 5.13); only hashes guard the scores"});
  return findings;
}

Action setup(CLI::App& app) {
  struct Options {
    bool json = false;
    bool llm = false;
    ModelCheck models;
  };
  auto options = std::make_shared<Options>();
  app.add_flag("--llm", options->llm, "find out what a language model's server can do");
  add_model_options(app, options->models);
  add_json_flag(app, options->json);
  return [options] {
    if (options->llm) return check_models(options->models, options->json);
    const std::vector<Finding> findings = examine();
    bool ok = true;
    base::Json object = base::Json::object();
    std::vector<std::vector<std::string>> rows{{"part", "state", "what was found"}};
    for (const Finding& finding : findings) {
      ok = ok && finding.ok;
      object[finding.what] = {{"ok", finding.ok}, {"text", finding.text}};
      rows.push_back({finding.what, finding.ok ? "ok" : "PROBLEM", finding.text});
    }
    if (options->json) {
      print(object);
    } else {
      print(base::format_table(rows));
    }
    return ok ? base::kExitDone : base::kExitFailed;
  };
}

const base::Registration<Command> registration{
    {.name = "doctor",
     .summary = "is everything here that studies need, and what hardware is it",
     .entry = {.group = "Looking",
               .example = "windtunnel doctor --llm --program overnight_cpu",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

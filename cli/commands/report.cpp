#include "report/report.h"

#include <memory>

#include "cli/command.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string study;
  bool json = false;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("study", options->study, "name under logs/, or a folder")->required();
  add_json_flag(app, options->json);
  return [options] {
    const std::filesystem::path study = find_study(options->study);
    report::write_report(study);
    base::Json files = base::Json::object();
    for (const char* name : {"report.html", "leaderboard.md", "research_log.md", "results.tsv"}) {
      files[name] = (study / name).string();
    }
    if (options->json) {
      print(files);
    } else {
      for (const auto& [name, path] : files.items()) print(path.get<std::string>());
    }
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "report",
     .summary = "write a study's page, log, table and leaderboard anew from its journal",
     .entry = {.group = "Looking", .example = "windtunnel report demo", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <memory>

#include "cli/command.h"
#include "cli/hand_on.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string text;
  bool json = false;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "run folder, or STUDY/RUN")->required();
  app.add_option("--text", options->text, "score this file instead of the validation split");
  add_json_flag(app, options->json);
  return [options]() -> int {
    std::vector<std::string> arguments{"evaluate", "--run", find_run(options->run).string()};
    if (!options->text.empty()) arguments.insert(arguments.end(), {"--text", options->text});
    if (options->json) arguments.push_back("--json");
    hand_on(arguments);
  };
}

const base::Registration<Command> registration{
    {.name = "evaluate",
     .summary = "bits per byte of a run's checkpoint over the validation split or a file",
     .entry = {
         .group = "Parts", .example = "windtunnel evaluate demo/baseline-s1", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <memory>

#include "cli/command.h"
#include "cli/hand_on.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string text;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "run folder, or STUDY/RUN")->required();
  app.add_option("--text", options->text, "file to score; the validation split if absent");
  return [options]() -> int {
    std::vector<std::string> arguments{"score", "--run", find_run(options->run).string()};
    if (options->text.empty()) {
      arguments.push_back("--validation");
    } else {
      arguments.insert(arguments.end(), {"--text", options->text});
    }
    hand_on(arguments);
  };
}

const base::Registration<Command> registration{
    {.name = "score",
     .summary = "log-probability of every token of a text, as JSON lines",
     .entry = {.group = "Parts",
               .example = "windtunnel score demo/baseline-s1 --text README.md > tokens.jsonl",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <memory>

#include "cli/command.h"
#include "trainer/train_run.h"

namespace windtunnel::cli {
namespace {

Action setup(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  app.add_option("--run", *folder, "run folder with config.json")->required();
  return [folder] { return trainer::train_run(*folder); };
}

const base::Registration<Command> registration{
    {.name = "train",
     .summary = "train as config.json in the run folder says, from its checkpoint if there is one",
     .entry = {
         .group = "Parts", .example = "windtunnel-train train --run runs/a", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

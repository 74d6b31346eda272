#include <memory>

#include "cli/command.h"
#include "cli/configuration.h"
#include "cli/hand_on.h"
#include "study/run_config.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string config;
  std::string out;
  std::vector<std::string> overrides;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("config", options->config, kConfigurationHelp)->required();
  app.add_option("--out", options->out, "folder to make, in the layout of export")->required();
  add_overrides(app, options->overrides);
  return [options]() -> int {
    const study::RunConfig config = study::resolve_run_config(
        read_config(options->config, options->overrides), options->config);
    if (config.model.vocabulary_size == 0) {
      throw base::UsageError("model.vocabulary_size = 0: needed here, since " + options->config +
                             " has no corpus yet; add model.vocabulary_size=1024");
    }
    hand_on({"init", "--config", base::to_json(config).dump(), "--out", options->out});
  };
}

const base::Registration<Command> registration{
    {.name = "init",
     .summary = "the weights that a run of a configuration starts with, drawn from its seed",
     .entry = {.group = "Parts",
               .example = "windtunnel init demo --out weights/start model.vocabulary_size=1024",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <memory>

#include "cli/command.h"
#include "cli/hand_on.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string tokens;
  std::string gradients;
  bool json = false;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "run folder, STUDY/RUN, or a folder of export or init")
      ->required();
  app.add_option("--tokens", options->tokens,
                 "JSON file with rows of T + 1 token ids, [[5, 17, 3], [8, 8, 1]]")
      ->required();
  app.add_option("--gradients", options->gradients,
                 "safetensors file to write, a tensor for each parameter under its name")
      ->required();
  add_json_flag(app, options->json);
  return [options]() -> int {
    std::vector<std::string> arguments{
        "step",          "--run",       find_run(options->run), "--tokens",
        options->tokens, "--gradients", options->gradients};
    if (options->json) arguments.push_back("--json");
    hand_on(arguments);
  };
}

const base::Registration<Command> registration{
    {.name = "step",
     .summary = "loss and gradients of one batch, for comparison; changes no weights",
     .entry = {.group = "Parts",
               .example = "windtunnel step demo/baseline-s1 --tokens ids.json --gradients "
                          "gradients.safetensors",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

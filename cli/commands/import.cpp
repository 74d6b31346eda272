#include <memory>

#include "cli/command.h"
#include "cli/hand_on.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string weights;
  std::string out;
  std::vector<std::string> overrides;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("weights", options->weights,
                 "folder with weights.safetensors and config.json, as export writes it")
      ->required();
  app.add_option("--out", options->out,
                 "run folder to make; evaluate, score, generate and export then take it")
      ->required();
  add_overrides(app, options->overrides);
  return [options]() -> int {
    std::vector<std::string> arguments{"import", "--weights", options->weights, "--out",
                                       options->out};
    arguments.insert(arguments.end(), options->overrides.begin(), options->overrides.end());
    hand_on(arguments);
  };
}

const base::Registration<Command> registration{
    {.name = "import",
     .summary = "a run folder from exported weights; refuses tensors that do not fit, all of them "
                "named",
     .entry = {.group = "Parts",
               .example = "windtunnel import weights/baseline --out logs/runs/runs/imported "
                          "data.corpus=logs/demo/corpus",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

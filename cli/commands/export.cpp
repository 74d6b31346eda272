#include <memory>

#include "cli/command.h"
#include "cli/hand_on.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string out;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "run folder, or STUDY/RUN")->required();
  app.add_option("--out", options->out,
                 "folder to make: weights.safetensors, config.json, tokenizer.json; names and "
                 "shapes of the tensors are in trainer/weights.md")
      ->required();
  return [options]() -> int {
    hand_on({"export", "--run", find_run(options->run).string(), "--out", options->out});
  };
}

const base::Registration<Command> registration{
    {.name = "export",
     .summary = "a run's weights for other programs: safetensors, configuration, tokenizer",
     .entry = {.group = "Parts",
               .example = "windtunnel export demo/baseline-s1 --out weights/baseline",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

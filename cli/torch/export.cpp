#include <memory>

#include "cli/command.h"
#include "trainer/saved_run.h"
#include "trainer/weights_folder.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string out;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--run", options->run, "run folder with a checkpoint")->required();
  app.add_option("--out", options->out, "folder to make")->required();
  return [options] {
    const trainer::SavedModel saved = trainer::read_model(options->run);
    trainer::write_weights_folder(options->out, saved.config, *saved.model);
    print(options->out);
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "export",
     .summary = "weights, configuration and tokenizer of a run as safetensors and JSON",
     .entry = {.group = "Parts",
               .example = "windtunnel-train export --run runs/a --out weights/a",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

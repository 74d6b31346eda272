#include <memory>

#include "cli/command.h"
#include "trainer/weights_folder.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string weights;
  std::string out;
  std::vector<std::string> overrides;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--weights", options->weights, "folder as export writes it")->required();
  app.add_option("--out", options->out, "run folder to make")->required();
  add_overrides(app, options->overrides);
  return [options] {
    trainer::import_weights(options->weights, options->out, options->overrides);
    print(options->out);
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "import",
     .summary = "a run folder whose checkpoint has the weights of an exported folder",
     .entry = {.group = "Parts",
               .example = "windtunnel-train import --weights weights/a --out runs/b",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <memory>

#include "cli/command.h"
#include "trainer/saved_run.h"
#include "trainer/weights_folder.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string config;
  std::string out;
};

int init(const Options& options) {
  const bool is_document = options.config.starts_with("{");
  const std::string subject = is_document ? "--config" : options.config;
  const study::RunConfig config = study::resolve_run_config(
      is_document ? base::parse_json(options.config, subject) : base::read_json(options.config),
      subject);
  trainer::write_weights_folder(options.out, config, *trainer::initial_model(config));
  print(options.out);
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--config", options->config, "JSON file, or the JSON itself")->required();
  app.add_option("--out", options->out, "folder to make")->required();
  return [options] { return init(*options); };
}

const base::Registration<Command> registration{
    {.name = "init",
     .summary = "the weights a run of a configuration starts with, in the layout of export",
     .entry = {.group = "Parts",
               .example = "windtunnel-train init --config runs/a/config.json --out weights/a0",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/hand_on.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string prompt;
  int64_t tokens = 200;
  double temperature = 0.8;
  int64_t top_k = 0;
  int64_t seed = 1;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "run folder, or STUDY/RUN")->required();
  app.add_option("--prompt", options->prompt, "text to continue");
  app.add_option("--tokens", options->tokens, "tokens to write")->capture_default_str();
  app.add_option("--temperature", options->temperature, "0: always the likeliest")
      ->capture_default_str();
  app.add_option("--top-k", options->top_k, "draw among the k likeliest; 0: all")
      ->capture_default_str();
  app.add_option("--seed", options->seed, "of the draws")->capture_default_str();
  return [options]() -> int {
    hand_on({"generate", "--run", find_run(options->run).string(), "--prompt", options->prompt,
             "--tokens", std::to_string(options->tokens), "--temperature",
             fmt::format("{}", options->temperature), "--top-k", std::to_string(options->top_k),
             "--seed", std::to_string(options->seed)});
  };
}

const base::Registration<Command> registration{
    {.name = "generate",
     .summary = "text from a run's checkpoint",
     .entry = {.group = "Parts",
               .example = "windtunnel generate demo/baseline-s1 --prompt 'The kernel'",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include "evaluation/generate.h"

#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "trainer/saved_run.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string prompt;
  evaluation::SamplingOptions sampling;
  uint64_t seed = 1;
};

int generate(const Options& options) {
  const trainer::SavedRun run = trainer::load_run(options.run);
  std::vector<int32_t> tokens = run.tokenizer.encode(options.prompt);
  tokens.insert(tokens.begin(), run.tokenizer.begin_of_document());
  base::RandomStream random(options.seed, "sampling");
  std::fputs(options.prompt.c_str(), stdout);
  evaluation::generate(*run.model, std::move(tokens), run.tokenizer.begin_of_document(),
                       options.sampling, random, [&](int32_t token) {
                         const std::string_view bytes = run.tokenizer.token_bytes(token);
                         std::fwrite(bytes.data(), 1, bytes.size(), stdout);
                         std::fflush(stdout);
                       });
  print(std::string());
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  evaluation::SamplingOptions& sampling = options->sampling;
  app.add_option("--run", options->run, "run folder with a checkpoint")->required();
  app.add_option("--prompt", options->prompt, "text to continue; may be empty")->required();
  app.add_option("--tokens", sampling.max_tokens, "tokens to draw at most")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--temperature", sampling.temperature, "0 takes the most likely token")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--top-k", sampling.top_k, "only the so many most likely tokens; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", options->seed, "same seed, same text")->capture_default_str();
  return [options] { return generate(*options); };
}

const base::Registration<Command> registration{
    {.name = "generate",
     .summary = "continue a prompt with the checkpoint's model",
     .entry = {.group = "Parts",
               .example = "windtunnel-train generate --run runs/a --prompt 'The kernel'",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <memory>

#include "cli/command.h"
#include "cli/hand_on.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string text;
  std::string tokens;
  std::string logits;
};

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run,
                 "run folder, or STUDY/RUN; for --tokens also a folder of export or init")
      ->required();
  app.add_option("--text", options->text, "file to score; the validation split if absent");
  app.add_option("--tokens", options->tokens,
                 "JSON file with rows of token ids, all of one length up to the context");
  app.add_option("--logits", options->logits,
                 "with --tokens: safetensors file for the tensor 'logits', F32 [rows, length, "
                 "vocabulary]");
  return [options]() -> int {
    std::vector<std::string> arguments{"score", "--run", find_run(options->run).string()};
    for (const auto& [flag, value] :
         {std::pair("--text", options->text), std::pair("--tokens", options->tokens),
          std::pair("--logits", options->logits)}) {
      if (!value.empty()) arguments.insert(arguments.end(), {flag, value});
    }
    if (options->text.empty() && options->tokens.empty()) arguments.push_back("--validation");
    hand_on(arguments);
  };
}

const base::Registration<Command> registration{
    {.name = "score",
     .summary = "log-probability of every token of a text, as JSON lines; or the logits of token "
                "ids",
     .entry = {.group = "Parts",
               .example = "windtunnel score demo/baseline-s1 --text README.md > tokens.jsonl",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

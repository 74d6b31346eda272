#include "model/census.h"

#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/configuration.h"
#include "study/run_config.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> overrides;
  bool json = false;
};

std::string table(const study::RunConfig& config, const model::Census& census) {
  std::vector<std::vector<std::string>> rows{{"component", "parameters", "FLOPs per token"}};
  std::map<std::string, std::pair<std::string, std::string>> components;
  for (const auto& [name, count] : census.parameters_by_component) {
    components[name].first = base::format_count(static_cast<double>(count));
  }
  for (const auto& [name, flops] : census.flops_per_token_by_component) {
    components[name].second = base::format_count(flops);
  }
  for (const auto& [name, cells] : components) rows.push_back({name, cells.first, cells.second});
  std::string text = fmt::format(
      "{}  width {}, context {}, vocabulary {}\n\n{}", config.model.pattern, config.model.width,
      config.model.context_tokens, config.model.vocabulary_size, base::format_table(rows));
  text += fmt::format(
      "\nparameters   {} active, {} total\nFLOPs/token  {} exact (forward and backward), {} by the "
      "source's count, {} "
      "by 6N\n"
      "memory       {}B for a step: {}B weights, {}B gradients, {}B optimizer, {}B activations "
      "(estimate)\n",
      base::format_count(static_cast<double>(census.parameters_active)),
      base::format_count(static_cast<double>(census.parameters_total)),
      base::format_count(census.flops_per_token_exact),
      base::format_count(census.flops_per_token_source),
      base::format_count(census.flops_per_token_six_n), base::format_count(census.peak_bytes()),
      base::format_count(census.weights_bytes), base::format_count(census.gradients_bytes),
      base::format_count(census.optimizer_bytes), base::format_count(census.activations_bytes));
  return text;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("config", options->config, kConfigurationHelp)->required();
  add_overrides(app, options->overrides);
  add_json_flag(app, options->json);
  return [options] {
    base::Json document = read_config(options->config, options->overrides);
    // Without a corpus nothing is known of its vocabulary; the counts below need one.
    const base::Json* vocabulary = base::find_path(document, "model.vocabulary_size");
    const base::Json* corpus = base::find_path(document, "data.corpus");
    if ((!vocabulary || *vocabulary == 0) && (!corpus || *corpus == "")) {
      throw base::UsageError("model.vocabulary_size = 0: needed here, since " + options->config +
                             " has no corpus yet; add model.vocabulary_size=1024");
    }
    const study::RunConfig config = study::resolve_run_config(document, options->config);
    const int64_t rows = config.train.micro_batch_rows;
    const int64_t tokens =
        rows > 0 ? rows * config.model.context_tokens : config.train.tokens_per_step;
    const model::Census census = model::census(config.model, tokens);
    if (options->json) {
      print(model::to_json(census));
    } else {
      print(table(config, census));
    }
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "census",
     .summary = "parameters, FLOPs per token and memory of a configuration, without building it",
     .entry = {
         .group = "Parts", .example = "windtunnel census demo model.width=96", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include "model/census.h"

#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/configuration.h"
#include "study/objective_kind.h"
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
      "memory       {}B at the peak of training (estimate, without the program itself): {}B "
      "weights, {}B gradients, {}B optimizer, {}B activations, and copies of them\n",
      base::format_count(static_cast<double>(census.parameters_active)),
      base::format_count(static_cast<double>(census.parameters_total)),
      base::format_count(census.flops_per_token_exact),
      base::format_count(census.flops_per_token_source),
      base::format_count(census.flops_per_token_six_n), base::format_count(census.peak_bytes()),
      base::format_count(census.weights_bytes), base::format_count(census.gradients_bytes),
      base::format_count(census.optimizer_bytes), base::format_count(census.activations_bytes));
  return text;
}

/// What the training objectives add to the model, under their own name.
base::Json objectives_json(const study::ObjectiveCost& cost, int64_t tokens) {
  return {{"parameters", cost.parameters_total()},
          {"flops_per_token", cost.flops_per_token},
          {"memory_bytes", cost.memory_bytes(tokens)}};
}

std::string objectives_line(const study::ObjectiveCost& cost, int64_t tokens) {
  return fmt::format("objectives   {} parameters, {} FLOPs/token, {}B on top\n",
                     base::format_count(static_cast<double>(cost.parameters_total())),
                     base::format_count(cost.flops_per_token),
                     base::format_count(cost.memory_bytes(tokens)));
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
    if ((!vocabulary || *vocabulary == 0) && (!corpus || *corpus == base::Json(""))) {
      throw base::UsageError("model.vocabulary_size = 0: needed here, since " + options->config +
                             " has no corpus yet; add model.vocabulary_size=1024");
    }
    const study::RunConfig config = study::resolve_run_config(document, options->config);
    const model::Census census = study::census_of(config);
    const int64_t tokens = study::tokens_in_flight(config);
    const study::ObjectiveCost objectives = study::objectives_cost(config);
    const bool any = objectives.parameters_total() > 0 || objectives.flops_per_token != 0;
    if (options->json) {
      base::Json counts = model::to_json(census);
      if (any) counts["objectives"] = objectives_json(objectives, tokens);
      print(counts);
    } else {
      print(table(config, census) + (any ? objectives_line(objectives, tokens) : ""));
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

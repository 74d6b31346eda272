#include <memory>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "trainer/batch_gradients.h"
#include "trainer/saved_run.h"
#include "trainer/tensor_files.h"
#include "trainer/token_rows.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string tokens;
  std::string gradients;
  bool json = false;
};

int step(const Options& options) {
  const trainer::SavedModel saved = trainer::load_model(options.run);
  const model::ModelConfig& model = saved.config.model;
  // A row is inputs and targets at once, so it has one id more than the context.
  const torch::Tensor tokens = trainer::token_rows(base::read_json(options.tokens), options.tokens,
                                                   {.vocabulary = model.vocabulary_size,
                                                    .min_columns = 2,
                                                    .max_columns = model.context_tokens + 1});
  const auto result = trainer::batch_gradients(*saved.model, tokens);
  base::write_file_atomic(options.gradients, [&](const std::filesystem::path& file) {
    trainer::write_tensors(file, result.gradients);
  });
  if (options.json) {
    const base::Json json = {
        {"loss_nats_per_token", base::encode_number(result.loss_nats_per_token)},
        {"auxiliary_loss", base::encode_number(result.auxiliary_loss)},
        {"gradient_norm", base::encode_number(result.gradient_norm)},
        {"gradients", options.gradients}};
    print(json);
    return base::kExitDone;
  }
  print("loss            " + base::format_number(result.loss_nats_per_token, 7) +
        " nats per token\nauxiliary loss  " + base::format_number(result.auxiliary_loss, 7) +
        "\ngradient norm   " + base::format_number(result.gradient_norm, 7) + "\n" +
        options.gradients);
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--run", options->run, "run folder, or a folder of export or init")->required();
  app.add_option("--tokens", options->tokens, "JSON file: rows of T + 1 token ids")->required();
  app.add_option("--gradients", options->gradients, "safetensors file to write")->required();
  add_json_flag(app, options->json);
  return [options] { return step(*options); };
}

const base::Registration<Command> registration{
    {.name = "step",
     .summary = "loss and gradients of one batch in float32, before clipping; changes no weights",
     .entry = {.group = "Parts",
               .example = "windtunnel-train step --run runs/a --tokens ids.json "
                          "--gradients gradients.safetensors",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include <memory>

#include "base/progress.h"
#include "base/text.h"
#include "cli/command.h"
#include "evaluation/bits_per_byte.h"
#include "trainer/saved_run.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string text;
  bool json = false;
};

void print_table(const study::EvaluationResult& result) {
  print(base::format_number(result.bits_per_byte, 5) + " bits per byte over " +
        base::format_count(static_cast<double>(result.bytes)) + "B in " +
        base::format_count(static_cast<double>(result.tokens)) + " tokens of " +
        std::to_string(result.documents) + " documents, in " +
        base::format_duration(result.seconds));
  if (result.bits_per_byte_source) {
    print("by the source's count of bytes, not for comparisons of ours: " +
          base::format_number(*result.bits_per_byte_source, 5) + " over " +
          base::format_count(static_cast<double>(*result.bytes_source)) + "B");
  }
  if (result.router_health.empty()) return;
  std::vector<std::vector<std::string>> rows{
      {"position", "load entropy", "load cv", "max load", "z loss", "largest bias", "saturated"}};
  const auto number = [](const std::optional<double>& value) {
    return value ? base::format_number(*value, 3) : std::string("-");
  };
  for (const auto& layer : result.router_health) {
    rows.push_back(
        {std::to_string(layer.position), base::format_number(layer.load_entropy, 3),
         base::format_number(layer.load_cv, 3), base::format_number(layer.max_load, 3),
         number(layer.z_loss),
         number(layer.bias_max) + (layer.bias_at_clamp.value_or(false) ? " (clamp)" : ""),
         number(layer.saturation)});
  }
  print(base::format_table(rows));
}

/// Scores the validation split and leaves evaluation.json, or scores a file and leaves nothing.
int evaluate(const Options& options) {
  const std::filesystem::path folder = options.run;
  const trainer::SavedRun run = trainer::load_run(folder);
  const auto text = options.text.empty()
                        ? evaluation::validation_text(run.config.data.corpus, run.tokenizer)
                        : evaluation::text_of_file(options.text, run.tokenizer);
  base::Progress progress;
  progress.phase("evaluate");
  auto result = evaluation::evaluate(*run.model, text, run.config.evaluation.rows,
                                     [&](double fraction) { progress.update(fraction, ""); });
  progress.clear();
  result.weights_sha256 = run.weights_sha256;
  if (options.text.empty()) base::write_json(folder / "evaluation.json", base::to_json(result));
  options.json ? print(base::to_json(result)) : print_table(result);
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--run", options->run, "run folder with a checkpoint")->required();
  app.add_option("--text", options->text, "score this file, as one document, instead");
  add_json_flag(app, options->json);
  return [options] { return evaluate(*options); };
}

const base::Registration<Command> registration{
    {.name = "evaluate",
     .summary = "bits per byte of the checkpoint over the validation split, into evaluation.json",
     .entry = {
         .group = "Parts", .example = "windtunnel-train evaluate --run runs/a", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

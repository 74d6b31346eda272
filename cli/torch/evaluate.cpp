#include <memory>

#include "base/progress.h"
#include "base/text.h"
#include "cli/command.h"
#include "corpus/locked_split.h"
#include "corpus/packed_corpus.h"
#include "evaluation/bits_per_byte.h"
#include "trainer/saved_run.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string text;
  std::string split = "validation";
  std::string who = "unknown";
  int64_t rows = 0;
  bool json = false;
};

bool is_locked(const Options& options) {
  return options.split == corpus::name_of(corpus::Split::kLocked);
}

evaluation::ScoredText text_to_score(const Options& options, const trainer::SavedRun& run) {
  if (!options.text.empty()) return evaluation::text_of_file(options.text, run.tokenizer);
  const std::string& corpus = run.config.data.corpus;
  if (!is_locked(options)) return evaluation::validation_text(corpus, run.tokenizer);
  return evaluation::locked_text(corpus, run.tokenizer, options.who, options.run);
}

void print_table(const study::EvaluationResult& result) {
  const std::string error = result.standard_error
                                ? " +- " + base::format_number(*result.standard_error, 2)
                                : std::string();
  print(base::format_number(result.bits_per_byte, 5) + error + " bits per byte over " +
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

/// Scores a split and leaves evaluation.json (evaluation-locked.json), or scores a file and leaves
/// nothing.
int evaluate(const Options& options) {
  const std::filesystem::path folder = options.run;
  const trainer::SavedRun run = trainer::load_run(folder);
  const auto text = text_to_score(options, run);
  base::Progress progress;
  progress.phase("evaluate");
  const int64_t rows = options.rows > 0 ? options.rows : run.config.evaluation.rows;
  auto result = evaluation::evaluate(*run.model, text, rows,
                                     [&](double fraction) { progress.update(fraction, ""); });
  progress.clear();
  result.weights_sha256 = run.weights_sha256;
  if (options.text.empty()) {
    const char* name = is_locked(options) ? "evaluation-locked.json" : "evaluation.json";
    base::write_json(folder / name, base::to_json(result));
  }
  options.json ? print(base::to_json(result)) : print_table(result);
  if (is_locked(options) && !options.json) {
    print("access " + std::to_string(corpus::locked_accesses(run.config.data.corpus).size()) +
          " of the locked split of " + run.config.data.corpus +
          "; each one makes the next worth less");
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--run", options->run, "run folder with a checkpoint")->required();
  auto* text = app.add_option("--text", options->text, "score this file, as one document, instead");
  app.add_option("--split", options->split, "validation, or locked: counted")
      ->check(CLI::IsMember({"validation", "locked"}))
      ->capture_default_str()
      ->excludes(text);
  app.add_option("--who", options->who, "in whose name an access to the locked split is counted")
      ->capture_default_str();
  app.add_option("--rows", options->rows, "rows scored at once; 0: as the configuration says");
  add_json_flag(app, options->json);
  return [options] { return evaluate(*options); };
}

const base::Registration<Command> registration{
    {.name = "evaluate",
     .summary = "bits per byte of the checkpoint over a held-out split, into evaluation.json",
     .entry = {
         .group = "Parts", .example = "windtunnel-train evaluate --run runs/a", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

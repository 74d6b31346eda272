#include <cstdio>
#include <memory>

#include "base/files.h"
#include "base/progress.h"
#include "cli/command.h"
#include "evaluation/bits_per_byte.h"
#include "evaluation/logits.h"
#include "evaluation/token_nats.h"
#include "trainer/saved_run.h"
#include "trainer/tensor_files.h"
#include "trainer/token_rows.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string text;
  std::string tokens;
  std::string logits;
  bool validation = false;
};

std::string hexadecimal(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (const char byte : bytes) {
    digits += kDigits[(byte >> 4) & 15];
    digits += kDigits[byte & 15];
  }
  return digits;
}

/// Tokens may end within a character, so their bytes go out as hexadecimal digits; "text" shows
/// them with the Unicode replacement character where they are not UTF-8.
std::string line_of(const evaluation::ScoredText& text, int64_t document, int64_t position,
                    float nats, const corpus::Tokenizer& tokenizer) {
  const int32_t token = text.tokens[static_cast<size_t>(position)];
  const std::string_view bytes = tokenizer.token_bytes(token);
  const base::Json line = {{"document", document},
                           {"position", position - text.document_starts[document] - 1},
                           {"token", token},
                           {"bytes", hexadecimal(bytes)},
                           {"text", std::string(bytes)},
                           {"nats", nats}};
  return line.dump(-1, ' ', false, base::Json::error_handler_t::replace);
}

/// The logits of given ids, without a tokenizer.
int score_tokens(const Options& options) {
  const trainer::SavedModel saved = trainer::load_model(options.run);
  const model::ModelConfig& model = saved.config.model;
  const torch::Tensor tokens_BT = trainer::token_rows(
      base::read_json(options.tokens), options.tokens,
      {.vocabulary = model.vocabulary_size, .max_columns = model.context_tokens});
  const auto logits = evaluation::logits_of(*saved.model, tokens_BT, saved.config.evaluation.rows);
  base::write_file_atomic(options.logits, [&](const std::filesystem::path& file) {
    trainer::write_tensors(file, {{"logits", logits}});
  });
  print(options.logits);
  return base::kExitDone;
}

int score(const Options& options) {
  if (options.validation + !options.text.empty() + !options.tokens.empty() != 1) {
    throw base::UsageError("score needs one of --text FILE, --validation and --tokens FILE");
  }
  if (options.tokens.empty() != options.logits.empty()) {
    throw base::UsageError("score --tokens FILE needs --logits FILE to write to, and the reverse");
  }
  if (!options.tokens.empty()) return score_tokens(options);
  const trainer::SavedRun run = trainer::load_run(options.run);
  const auto text = options.validation
                        ? evaluation::validation_text(run.config.data.corpus, run.tokenizer)
                        : evaluation::text_of_file(options.text, run.tokenizer);
  base::Progress progress;
  progress.phase("score");
  const std::vector<float> nats =
      evaluation::token_nats(*run.model, text, run.config.evaluation.rows,
                             [&](double fraction) { progress.update(fraction, ""); });
  progress.clear();
  double total = 0;
  for (int64_t document = 0; document < text.documents(); ++document) {
    for (int64_t i = text.document_starts[document] + 1; i < text.document_starts[document + 1];
         ++i) {
      const float value = nats[static_cast<size_t>(i)];
      total += value;
      print(line_of(text, document, i, value, run.tokenizer));
    }
  }
  if (std::fflush(stdout) != 0) throw base::Error("cannot write to stdout");
  std::fprintf(stderr, "%lld tokens, %lld bytes, %.6f nats, %.6f bits per byte\n",
               static_cast<long long>(text.scored_tokens()), static_cast<long long>(text.bytes),
               total, evaluation::bits_per_byte(total, text.bytes));
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--run", options->run,
                 "run folder with a checkpoint; for --tokens also a folder of export or init")
      ->required();
  app.add_option("--text", options->text, "file to score, as one document");
  app.add_flag("--validation", options->validation, "score the validation split");
  app.add_option("--tokens", options->tokens, "JSON file: rows of token ids of one length");
  app.add_option("--logits", options->logits, "with --tokens: safetensors file to write");
  return [options] { return score(*options); };
}

const base::Registration<Command> registration{
    {.name = "score",
     .summary = "negative log-probability of every token of a text, as JSON lines; or the logits "
                "of token ids",
     .entry = {.group = "Parts",
               .example = "windtunnel-train score --run runs/a --text README.md",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

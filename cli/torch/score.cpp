#include <cstdio>
#include <memory>

#include "base/progress.h"
#include "cli/command.h"
#include "evaluation/bits_per_byte.h"
#include "evaluation/token_nats.h"
#include "trainer/saved_run.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string run;
  std::string text;
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

int score(const Options& options) {
  if (options.validation == !options.text.empty()) {
    throw base::UsageError("score needs one of --text FILE and --validation");
  }
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
  app.add_option("--run", options->run, "run folder with a checkpoint")->required();
  app.add_option("--text", options->text, "file to score, as one document");
  app.add_flag("--validation", options->validation, "score the validation split");
  return [options] { return score(*options); };
}

const base::Registration<Command> registration{
    {.name = "score",
     .summary = "negative log-probability of every token of a text, as JSON lines",
     .entry = {.group = "Parts",
               .example = "windtunnel-train score --run runs/a --text README.md",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

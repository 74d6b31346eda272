#include "corpus/tokenizer.h"

#include <cstdio>
#include <memory>

#include "base/files.h"
#include "cli/command.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string corpus;
  std::string text;
  std::string file;
  std::vector<int32_t> decode;
  bool json = false;
};

void print_tokens(const corpus::Tokenizer& tokenizer, const std::string& text, bool json) {
  const std::vector<int32_t> tokens = tokenizer.encode(text);
  if (json) {
    base::Json pieces = base::Json::array();
    for (const int32_t token : tokens) pieces.push_back(tokenizer.token_bytes(token));
    print(base::Json{{"tokens", tokens}, {"bytes", text.size()}, {"pieces", pieces}});
    return;
  }
  std::string line;
  for (const int32_t token : tokens) {
    line += base::Json(tokenizer.token_bytes(token))
                .dump(-1, ' ', false, base::Json::error_handler_t::replace) +
            ":" + std::to_string(token) + " ";
  }
  print(line);
  print(std::to_string(tokens.size()) + " tokens, " + std::to_string(text.size()) + " bytes");
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("corpus", options->corpus, "folder of a packed corpus, or a tokenizer.json")
      ->required();
  app.add_option("--text", options->text, "text to encode");
  app.add_option("--file", options->file, "file to encode");
  app.add_option("--decode", options->decode, "token ids to turn back into text");
  add_json_flag(app, options->json);
  return [options] {
    std::filesystem::path path = options->corpus;
    if (std::filesystem::is_directory(path)) path /= "tokenizer.json";
    const corpus::Tokenizer tokenizer = corpus::Tokenizer::load(path);
    if (!options->decode.empty()) {
      const std::string text = tokenizer.decode(options->decode);
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else if (!options->text.empty() || !options->file.empty()) {
      const std::string text =
          options->file.empty() ? options->text : base::read_file(options->file);
      print_tokens(tokenizer, text, options->json);
    } else {
      const base::Json facts = {{"vocabulary_size", tokenizer.vocabulary_size()},
                                {"begin_of_document", tokenizer.begin_of_document()},
                                {"split_pattern", corpus::kSplitPattern},
                                {"fingerprint", tokenizer.fingerprint()}};
      print(facts);
    }
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "tokenizer",
     .summary = "what a tokenizer does to a text, and back",
     .entry = {
         .group = "Parts",
         .example = "windtunnel tokenizer .windtunnel/corpora/debian_docs --text 'Hello, world'",
         .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

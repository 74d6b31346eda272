#include <memory>

#include "cli/command.h"
#include "cli/corpora.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string recipe;
  std::vector<std::string> files;
  std::string out;
  std::string show;
  std::string extractor = "plain";
  int64_t vocabulary_size = 0;
  bool json = false;
  bool dry_run = false;
};

corpus::CorpusRecipe recipe_of(const Options& options) {
  corpus::CorpusRecipe recipe;
  if (!options.files.empty()) {
    recipe.name = "files";
    recipe.sources = {
        {.package = "", .files = options.files, .extractor = options.extractor, .domain = "text"}};
  } else {
    const std::filesystem::path named =
        home() / "programs" / "corpora" / (options.recipe + ".yaml");
    recipe = corpus::read_recipe(std::filesystem::exists(named) ? named.string() : options.recipe);
  }
  if (options.vocabulary_size > 0) recipe.vocabulary_size = options.vocabulary_size;
  return recipe;
}

int build(const Options& options) {
  const corpus::CorpusRecipe recipe = recipe_of(options);
  const std::filesystem::path folder = options.out.empty()
                                           ? home() / ".windtunnel" / "corpora" / recipe.name
                                           : std::filesystem::path(options.out);
  if (options.dry_run) {
    print(base::Json{{"folder", folder.string()}, {"recipe", base::to_json(recipe)}});
    return base::kExitDone;
  }
  base::Progress progress;
  progress.phase("corpus " + recipe.name);
  const corpus::CorpusManifest manifest = build_with_progress(recipe, folder, progress);
  progress.clear();
  if (options.json) {
    print(base::to_json(manifest));
  } else {
    print(folder.string() + ": " + describe(manifest));
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("recipe", options->recipe, "name in programs/corpora/ or a recipe file");
  app.add_option("--files", options->files,
                 "your own text instead: glob patterns, e.g. 'notes/**/*.txt'");
  app.add_option("--extractor", options->extractor,
                 "how those files become text (list extractors)");
  app.add_option("--out", options->out, "folder to pack into");
  app.add_option("--vocabulary", options->vocabulary_size,
                 "tokens of the tokenizer, over the recipe's");
  app.add_option("--show", options->show, "print the manifest of a packed corpus and stop");
  add_json_flag(app, options->json);
  add_dry_run_flag(app, options->dry_run);
  return [options] {
    if (!options->show.empty()) {
      const corpus::CorpusManifest manifest = corpus::read_manifest(options->show);
      if (options->json) {
        print(base::to_json(manifest));
      } else {
        print(describe(manifest));
      }
      return base::kExitDone;
    }
    if (options->recipe.empty() == options->files.empty()) {
      throw base::UsageError("corpus: give a recipe or --files 'pattern', one of the two");
    }
    return build(*options);
  };
}

const base::Registration<Command> registration{
    {.name = "corpus",
     .summary = "build a packed corpus from a recipe or from your own files",
     .entry = {.group = "Parts",
               .example = "windtunnel corpus --files 'notes/**/*.txt' --out logs/notes-corpus",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

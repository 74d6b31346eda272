#include "cli/configuration.h"

#include <filesystem>

#include "agent/program.h"
#include "base/error.h"
#include "cli/corpora.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace fs = std::filesystem;

namespace {

base::Json read_document(const std::string& text) {
  if (fs::path(text).extension() == ".json") return base::read_json(text);
  if (fs::exists(fs::path(text) / "config.json"))
    return base::read_json(fs::path(text) / "config.json");
  try {
    const agent::Program program = agent::read_program(find_program(text));
    base::Json document = program.base;
    const fs::path folder = corpus_folder(program.corpus);
    if (fs::exists(folder / "manifest.json")) {
      base::set_path(document, "data.corpus", folder.string());
    }
    return document;
  } catch (const base::UsageError&) {
    if (text.find('/') != std::string::npos) return base::read_json(find_run(text) / "config.json");
    throw base::UsageError("configuration '" + text +
                           "' does not exist; give a JSON file, a program or a run folder");
  }
}

}  // namespace

base::Json read_config(const std::string& text, const std::vector<std::string>& overrides) {
  base::Json document = read_document(text);
  for (const std::string& assignment : overrides) base::apply_override(document, assignment);
  return document;
}

}  // namespace windtunnel::cli

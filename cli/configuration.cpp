#include "cli/configuration.h"

#include <filesystem>

#include "agent/program.h"
#include "base/error.h"
#include "cli/corpora.h"
#include "cli/places.h"

namespace windtunnel::cli {
namespace fs = std::filesystem;

namespace {

base::Json document_of_program(const fs::path& file) {
  const agent::Program program = agent::read_program(file);
  base::Json document = program.base;
  const fs::path folder = corpus_folder(program.corpus);
  if (fs::exists(folder / "manifest.json")) {
    base::set_path(document, "data.corpus", folder.string());
  }
  return document;
}

base::Json read_document(const std::string& text) {
  if (fs::path(text).extension() == ".json") {
    const fs::path at_home = home() / text;
    return base::read_json(!fs::exists(text) && fs::exists(at_home) ? at_home : fs::path(text));
  }
  if (fs::exists(fs::path(text) / "config.json"))
    return base::read_json(fs::path(text) / "config.json");
  if (const auto program = program_file(text)) return document_of_program(*program);
  if (const auto preset = preset_file(text)) return base::read_json(*preset);
  if (const auto run = run_folder(text)) return base::read_json(*run / "config.json");
  throw base::UsageError(
      "configuration '" + text +
      "' does not exist; give a JSON file, a run folder or STUDY/RUN, a program (" +
      program_names() + ") or a preset (" + preset_names() + ")");
}

}  // namespace

base::Json read_config(const std::string& text, const std::vector<std::string>& overrides) {
  base::Json document = read_document(text);
  for (const std::string& assignment : overrides) base::apply_override(document, assignment);
  return document;
}

}  // namespace windtunnel::cli

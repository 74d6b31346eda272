#include "cli/places.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace windtunnel::cli {
namespace fs = std::filesystem;
namespace {

std::string names_in(const fs::path& folder, const std::string& extension,
                     const std::string& marker = "") {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!marker.empty() && !fs::exists(entry.path() / marker)) continue;
    if (!extension.empty() && entry.path().extension() != extension) continue;
    if (entry.path().filename() == "README.md") continue;
    names.push_back(extension.empty() ? entry.path().filename().string()
                                      : entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names.empty() ? "none" : base::join(names, ", ");
}

}  // namespace

fs::path home() {
  const char* set = std::getenv("WINDTUNNEL_HOME");
  return set && *set ? fs::path(set) : fs::path(WINDTUNNEL_SOURCE_DIR);
}

std::optional<fs::path> program_file(const std::string& text) {
  for (const fs::path& path :
       {fs::path(text), home() / text, home() / "programs" / (text + ".md")}) {
    if (fs::is_regular_file(path)) return path;
  }
  return std::nullopt;
}

std::string program_names() { return names_in(home() / "programs", ".md"); }

fs::path find_program(const std::string& text) {
  if (const auto file = program_file(text)) return *file;
  throw base::UsageError("program '" + text +
                         "' does not exist; give a Markdown file or one of: " + program_names());
}

fs::path presets() { return home() / "programs" / "presets"; }

std::optional<fs::path> preset_file(const std::string& text) {
  const std::string folder = "presets/";
  const fs::path file =
      presets() / ((text.starts_with(folder) ? text.substr(folder.size()) : text) + ".json");
  return fs::is_regular_file(file) ? std::optional(file) : std::nullopt;
}

std::string preset_names() { return names_in(presets(), ".json"); }

fs::path study_folder(const std::string& text) {
  if (text.find('/') != std::string::npos) return text;
  return home() / "logs" / text;
}

fs::path find_study(const std::string& text) {
  for (const fs::path& path : {fs::path(text), study_folder(text)}) {
    if (fs::exists(path / "journal.db")) return path;
  }
  const bool names_a_file = fs::path(text).has_extension();
  throw base::UsageError(
      (names_a_file ? "file or study '" : "study '") + text +
      "' does not exist; studies: " + names_in(home() / "logs", "", "journal.db"));
}

std::optional<fs::path> run_folder(const std::string& text) {
  if (fs::exists(fs::path(text) / "config.json")) return text;
  const size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const fs::path path = study_folder(text.substr(0, slash)) / "runs" / text.substr(slash + 1);
    if (fs::exists(path / "config.json")) return path;
  }
  return std::nullopt;
}

fs::path find_run(const std::string& text) {
  if (const auto folder = run_folder(text)) return *folder;
  throw base::UsageError("run '" + text +
                         "' does not exist; give a run folder or STUDY/RUN, e.g. demo/baseline-s1 "
                         "(windtunnel list runs STUDY names them)");
}

fs::path cache_folder() { return home() / ".windtunnel" / "packages"; }

}  // namespace windtunnel::cli

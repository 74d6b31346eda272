#include "tests/structure/sources.h"

#include <algorithm>
#include <sstream>

#include "base/files.h"

namespace windtunnel::structure {
namespace {

Source read_source(const std::filesystem::path& file) {
  Source source{.path = file.lexically_relative(root()).generic_string(),
                .text = base::read_file(file)};
  std::istringstream lines(source.text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#include ") || line.size() < 12) continue;
    const char open = line[9];
    const auto close = line.find(open == '<' ? '>' : '"', 10);
    auto& includes = open == '<' ? source.system_includes : source.project_includes;
    includes.push_back(line.substr(10, close - 10));
  }
  return source;
}

std::vector<Source> read_folders(const std::vector<std::string>& folders) {
  std::vector<Source> sources;
  for (const auto& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root() / folder)) {
      const auto extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp" || extension == ".cu") {
        sources.push_back(read_source(entry.path()));
      }
    }
  }
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

}  // namespace

const std::vector<std::string>& product_folders() {
  static const std::vector<std::string> folders = {"base",  "corpus",     "kernels", "model",
                                                   "study", "evaluation", "trainer", "scaling",
                                                   "agent", "report",     "cli"};
  return folders;
}

std::filesystem::path root() { return WINDTUNNEL_SOURCE_DIR; }

const std::vector<Source>& product_sources() {
  static const auto sources = read_folders(product_folders());
  return sources;
}

const std::vector<Source>& test_sources() {
  static const auto sources = read_folders({"tests"});
  return sources;
}

const Source* find_source(const std::string& path) {
  for (const auto& source : product_sources()) {
    if (source.path == path) return &source;
  }
  return nullptr;
}

bool starts_with_any(const std::string& text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return text.starts_with(prefix); });
}

}  // namespace windtunnel::structure

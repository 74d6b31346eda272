#pragma once
// The source files of the repository, as the structure tests look at them.

#include <filesystem>
#include <string>
#include <vector>

namespace windtunnel::structure {

struct Source {
  /// Relative to the root, e.g. "model/layers/dense.cpp".
  std::string path;
  std::string text;
  std::vector<std::string> project_includes;
  std::vector<std::string> system_includes;

  std::string folder() const { return path.substr(0, path.find('/')); }
};

/// The folders of the product in the order in which they are read: each may include only earlier
/// ones.
const std::vector<std::string>& product_folders();

std::filesystem::path root();

/// All .h, .cpp and .cu files of the product folders, sorted by path.
const std::vector<Source>& product_sources();

/// The same for tests/.
const std::vector<Source>& test_sources();

const Source* find_source(const std::string& path);

bool starts_with_any(const std::string& text, const std::vector<std::string>& prefixes);

}  // namespace windtunnel::structure

#include <yaml-cpp/yaml.h>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "corpus/build.h"
#include "corpus/extractor.h"

namespace windtunnel::corpus {
namespace fs = std::filesystem;
using base::Json;
namespace {

/// A plain scalar is null, a boolean or a number if it reads as one; a quoted one is text.
Json scalar(const YAML::Node& node) {
  if (node.Tag() == "!") return node.Scalar();
  if (node.IsNull()) return nullptr;
  if (bool value; YAML::convert<bool>::decode(node, value)) return value;
  if (int64_t value; YAML::convert<int64_t>::decode(node, value)) return value;
  if (double value; YAML::convert<double>::decode(node, value)) return value;
  return node.Scalar();
}

Json to_json(const YAML::Node& node) {
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& item : node) object[item.first.Scalar()] = to_json(item.second);
    return object;
  }
  if (node.IsSequence()) {
    Json array = Json::array();
    for (const auto& item : node) array.push_back(to_json(item));
    return array;
  }
  return scalar(node);
}

Json read_yaml(const fs::path& file) {
  try {
    return to_json(YAML::Load(base::read_file(file)));
  } catch (const YAML::Exception& error) {
    throw base::ConfigError(file.string(),
                            {{"line " + std::to_string(error.mark.line + 1), "(text)", error.msg}});
  }
}

}  // namespace

CorpusRecipe read_recipe(const fs::path& file) {
  const Json json = file.extension() == ".json" ? base::read_json(file) : read_yaml(file);
  auto recipe = base::from_json<CorpusRecipe>(json, file.string());
  if (recipe.name.empty()) recipe.name = file.stem().string();
  require_valid(recipe, file.string());
  return recipe;
}

CorpusRecipe recipe_for_files(std::vector<std::string> patterns) {
  CorpusRecipe recipe;
  recipe.name = "files";
  recipe.sources.push_back({.files = std::move(patterns)});
  return recipe;
}

void require_valid(const CorpusRecipe& recipe, const std::string& subject) {
  base::require_valid(base::to_json(recipe), base::schema_of<CorpusRecipe>(), subject);
  std::vector<base::Problem> problems;
  if (recipe.sources.empty()) problems.push_back({"sources", "[]", "needs at least one source"});
  if (recipe.validation_fraction + recipe.locked_fraction >= 1) {
    problems.push_back({"locked_fraction", base::format_number(recipe.locked_fraction),
                        "must leave documents to train on: with validation_fraction below 1"});
  }
  for (size_t i = 0; i < recipe.sources.size(); ++i) {
    const SourceConfig& source = recipe.sources[i];
    const std::string path = "sources." + std::to_string(i);
    if (source.files.empty()) {
      problems.push_back({path + ".files", "[]", "needs at least one glob pattern"});
    }
    if (ExtractorRegistry::instance().find(source.extractor) == nullptr) {
      problems.push_back(
          {path + ".extractor", "\"" + source.extractor + "\"",
           "must be one of " + base::join(ExtractorRegistry::instance().names(), ", ")});
    }
    if (source.package.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") !=
            std::string::npos ||
        source.package.rfind('-', 0) == 0) {
      problems.push_back({path + ".package", "\"" + source.package + "\"",
                          "must be the name of a Debian package"});
    }
  }
  if (!problems.empty()) throw base::ConfigError(subject, problems);
}

}  // namespace windtunnel::corpus

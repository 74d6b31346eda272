#include <gmock/gmock.h>

#include "base/error.h"
#include "corpus/build.h"
#include "tests/corpus/scratch_folder.h"

namespace windtunnel::corpus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReadRecipe, DeliveredRecipesAreValid) {
  const auto files = base::glob(WINDTUNNEL_SOURCE_DIR "/programs/corpora/*.yaml");
  EXPECT_FALSE(files.empty());
  for (const auto& file : files) EXPECT_EQ(read_recipe(file).name, file.stem());
}

TEST(ReadRecipe, YamlScalarsHaveTheirTypes) {
  const ScratchFolder scratch;
  scratch.write("notes.yaml",
                "vocabulary_size: 512\nvalidation_fraction: 0.1\nsources:\n"
                "  - {files: [notes/**, \"!notes/*.key\"], domain: \"12\"}\n");
  const CorpusRecipe recipe = read_recipe(scratch / "notes.yaml");
  EXPECT_EQ(recipe.name, "notes");
  EXPECT_EQ(recipe.vocabulary_size, 512);
  EXPECT_EQ(recipe.sources[0].domain, "12");
  EXPECT_THAT(recipe.sources[0].files, ElementsAre("notes/**", "!notes/*.key"));
}

TEST(ReadRecipe, UnknownKeysAndBadValuesAreRefused) {
  const ScratchFolder scratch;
  scratch.write("a.yaml", "vocabulary: 512\nvocabulary_size: 100\nsources: [{files: [x]}]\n");
  const std::string error = error_of([&] { read_recipe(scratch / "a.yaml"); });
  EXPECT_THAT(error, HasSubstr("vocabulary"));
  EXPECT_THAT(error, HasSubstr("vocabulary_size = 100"));
}

TEST(ReadRecipe, BrokenYamlNamesTheLine) {
  const ScratchFolder scratch;
  scratch.write("a.yaml", "name: x\nsources: [\n");
  EXPECT_THAT(error_of([&] { read_recipe(scratch / "a.yaml"); }), HasSubstr("line 3"));
}

}  // namespace
}  // namespace windtunnel::corpus

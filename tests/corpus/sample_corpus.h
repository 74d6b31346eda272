#pragma once
// Text and a small packed corpus to test with.

#include <string>

#include "base/random.h"
#include "corpus/build.h"
#include "tests/corpus/scratch_folder.h"

namespace windtunnel::corpus {

/// Sentences from a few words; another seed gives another text.
inline std::string sample_text(uint64_t seed, size_t words) {
  static const char* const kWords[] = {
      "wind", "tunnel", "model", "measures", "noise",  "slowly", "seeds", "the",   "a",
      "of",   "pairs",  "law",   "small",    "larger", "budget", "9,81",  "don't", "forecast"};
  base::RandomStream random(seed, "sample_text");
  std::string text;
  for (size_t i = 0; i < words; ++i) {
    text += kWords[random.below(std::size(kWords))];
    text += i % 60 == 59 ? ".\n\n" : i % 12 == 11 ? ".\n" : " ";
  }
  return text;
}

/// `documents` files of some 600 bytes under texts/.
inline void write_sample_texts(const ScratchFolder& scratch, size_t documents) {
  for (size_t i = 0; i < documents; ++i) {
    scratch.write("texts/" + std::to_string(i) + ".txt", sample_text(i, 100));
  }
}

inline CorpusRecipe sample_recipe(const ScratchFolder& scratch) {
  CorpusRecipe recipe = recipe_for_files({(scratch / "texts/**").string()});
  recipe.vocabulary_size = 300;
  recipe.validation_fraction = 0.2;
  return recipe;
}

}  // namespace windtunnel::corpus

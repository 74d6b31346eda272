// Every kind that has a file is registered once in a program that links everything: a kind that the
// linker dropped would be missing here, one linked twice would end the program before main.

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/dialect.h"
#include "agent/proposer.h"
#include "agent/veto.h"
#include "corpus/extractor.h"
#include "model/layer.h"
#include "model/layer_kind.h"
#include "model/router.h"
#include "model/router_kind.h"
#include "report/figures/figure.h"
#include "scaling/law.h"
#include "study/objective_kind.h"
#include "tests/structure/readme.h"
#include "tests/structure/sources.h"
#include "trainer/objective.h"
#include "trainer/optimizer.h"

namespace windtunnel::structure {
namespace {

template <class Registry>
void expect_one_kind_a_file(const std::string& folder) {
  const auto files =
      std::count_if(product_sources().begin(), product_sources().end(), [&](const Source& source) {
        return source.path.starts_with(folder + "/") &&
               source.text.find("\nconst base::Registration<") != std::string::npos;
      });
  EXPECT_EQ(Registry::instance().kinds().size(), static_cast<size_t>(files)) << folder;
}

TEST(Registries, HaveOneKindForEachFile) {
  expect_one_kind_a_file<agent::Dialects>("agent/dialects");
  expect_one_kind_a_file<agent::ProposerKinds>("agent/proposers");
  expect_one_kind_a_file<agent::Vetoes>("agent/vetoes");
  expect_one_kind_a_file<corpus::ExtractorRegistry>("corpus/extractors");
  expect_one_kind_a_file<model::LayerKinds>("model/kinds");
  expect_one_kind_a_file<model::LayerFactories>("model/layers");
  expect_one_kind_a_file<model::RouterKinds>("model/router_kinds");
  expect_one_kind_a_file<model::RouterFactories>("model/routers");
  expect_one_kind_a_file<report::FigureRegistry>("report/figures");
  expect_one_kind_a_file<scaling::Laws>("scaling/laws");
  expect_one_kind_a_file<study::ObjectiveKinds>("study/objective_kinds");
  expect_one_kind_a_file<trainer::ObjectiveFactories>("trainer/objectives");
  expect_one_kind_a_file<trainer::OptimizerKinds>("trainer/optimizers");
}

TEST(Registries, BothHalvesOfAKindHaveTheSameName) {
  EXPECT_EQ(model::LayerKinds::instance().names(), model::LayerFactories::instance().names());
  EXPECT_EQ(model::RouterKinds::instance().names(), model::RouterFactories::instance().names());
  EXPECT_EQ(study::ObjectiveKinds::instance().names(),
            trainer::ObjectiveFactories::instance().names());
}

TEST(Registries, EveryKindSaysWhatItIs) {
  const auto expect_summaries = [](const auto& registry) {
    for (const auto& kind : registry.kinds()) EXPECT_NE(kind.summary, "") << kind.name;
  };
  expect_summaries(agent::Dialects::instance());
  expect_summaries(agent::ProposerKinds::instance());
  expect_summaries(agent::Vetoes::instance());
  expect_summaries(corpus::ExtractorRegistry::instance());
  expect_summaries(model::LayerKinds::instance());
  expect_summaries(model::RouterKinds::instance());
  expect_summaries(report::FigureRegistry::instance());
  expect_summaries(scaling::Laws::instance());
  expect_summaries(study::ObjectiveKinds::instance());
  expect_summaries(trainer::OptimizerKinds::instance());
}

TEST(Registries, TheReadmeListsTheProposers) {
  std::string expected = "| proposer | what it does | source |\n|---|---|---|\n";
  for (const auto& kind : agent::ProposerKinds::instance().kinds()) {
    expected += "| `" + kind.name + "` | " + kind.summary + " | " + kind.source + " |\n";
  }
  expect_in_readme("proposers", expected);
}

}  // namespace
}  // namespace windtunnel::structure

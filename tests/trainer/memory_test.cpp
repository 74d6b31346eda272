// The census's estimate of memory against the peak that the real program reaches.

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "tests/trainer/small_run.h"

namespace windtunnel::trainer {
namespace {

using base::Json;
using tests::TemporaryFolder;

/// Peak over estimate. The estimate adds up blocks in use and a third for gaps between them; how
/// many gaps there are depends on the sizes of the model's tensors.
constexpr double kLeast = 0.75, kMost = 1.25;

struct Size {
  const char* name;
  const char* pattern;
  int64_t width, context, tokens_per_step;
  int64_t experts = 8;
  const char* matrices = "muon";
};

study::RunConfig config_of(const Size& size) {
  study::RunConfig config;
  config.data.corpus = tests::shared_corpus().string();
  config.model.pattern = size.pattern;
  config.model.width = size.width;
  config.model.context_tokens = size.context;
  config.model.layers = Json::object({{"E", {{"num_experts", size.experts}}}});
  config.train.optimizer.matrices = size.matrices;
  config.train.budget = {.kind = "steps", .amount = 1};
  config.train.tokens_per_step = size.tokens_per_step;
  return config;
}

/// Trains in a process of its own: memory once touched counts for good.
double measured_peak(const study::RunConfig& config) {
  const TemporaryFolder folder;
  tests::write_run(folder.path(), config);
  const auto status = base::run_child({.command = {WINDTUNNEL_BINARY_DIR "/windtunnel-train",
                                                   "train", "--run", folder.path().string()},
                                       .output_file = folder / "log"});
  EXPECT_TRUE(status.ok()) << status.text();
  return *tests::read_result(folder.path()).peak_memory_bytes;
}

double estimated_peak(const study::RunConfig& config) {
  return study::census_of(study::resolve_run_config(base::to_json(config), "test")).peak_bytes();
}

/// What the process holds without a model worth speaking of: the libraries' code and tables, the
/// streams of the corpus.
double baseline() {
  static const double bytes = [] {
    const auto config = config_of({"nothing", "*D", 16, 32, 32});
    return measured_peak(config) - estimated_peak(config);
  }();
  return bytes;
}

class Memory : public testing::TestWithParam<Size> {};

TEST_P(Memory, TheEstimateIsWithinAQuarterOfThePeak) {
  const auto config = config_of(GetParam());
  const double estimate = estimated_peak(config);
  ASSERT_GT(estimate, 5e7) << "too small to tell from the libraries";
  const double ratio = (measured_peak(config) - baseline()) / estimate;
  RecordProperty("peak_over_estimate", std::to_string(ratio));
  EXPECT_GT(ratio, kLeast) << "estimate " << estimate << " bytes";
  EXPECT_LT(ratio, kMost) << "estimate " << estimate << " bytes";
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Memory,
    testing::Values(Size{"activations_of_attention", "****", 128, 128, 4096},
                    Size{"activations_of_dense_layers", "*D*D", 128, 128, 4096},
                    Size{"activations_of_experts", "*E*E", 128, 128, 4096},
                    Size{"updates_of_many_experts", "*E*E", 192, 64, 256, 32},
                    Size{"many_experts_with_adamw", "*E*E", 192, 64, 256, 32, "adamw"}),
    [](const auto& size) { return std::string(size.param.name); });

}  // namespace
}  // namespace windtunnel::trainer

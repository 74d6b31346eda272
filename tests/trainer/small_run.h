#pragma once
// Run folders small enough to train in a fraction of a second.

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "study/run_config.h"
#include "study/run_record.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_corpus.h"

namespace windtunnel::tests {

/// A corpus, shared by all tests of this process.
inline const std::filesystem::path& shared_corpus() {
  static const TemporaryFolder folder;
  static const std::filesystem::path corpus = [] {
    write_tiny_corpus(folder.path() / "corpus");
    return folder.path() / "corpus";
  }();
  return corpus;
}

/// Two layers with experts, 12 steps of 64 tokens.
inline study::RunConfig small_config() {
  study::RunConfig config;
  config.data.corpus = shared_corpus().string();
  config.model.pattern = "*E";
  config.model.width = 16;
  config.model.context_tokens = 16;
  config.model.layers = base::Json::object(
      {{"E",
        {{"num_experts", 4}, {"num_active", 2}, {"router", base::Json{{"kind", "sigmoid"}}}}}});
  config.train.budget = {.kind = "steps", .amount = 12};
  config.train.tokens_per_step = 64;
  return config;
}

inline void write_run(const std::filesystem::path& folder, const study::RunConfig& config) {
  std::filesystem::create_directories(folder);
  base::write_json(folder / "config.json", base::to_json(config));
}

inline study::TrainResult read_result(const std::filesystem::path& folder) {
  return base::from_trusted_json<study::TrainResult>(base::read_json(folder / "train.json"));
}

}  // namespace windtunnel::tests

#pragma once
// What a study found, without when and how fast: equal for two studies that did the same.

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace windtunnel::tests {

/// Experiments, runs with their curves, facts and what became of questions to language models, out
/// of a study's journal and run folders. Left out are times, throughput, memory, and how often a
/// run was started or a question asked.
base::Json study_content(const std::filesystem::path& study);

/// "/runs/e002-s1/record/evaluation/bits_per_byte: 1.5 and 1.6", a line for each difference.
std::vector<std::string> differences(const base::Json& first, const base::Json& second);

}  // namespace windtunnel::tests

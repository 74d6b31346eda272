#pragma once
// Runs `windtunnel` as a stranger does.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/files.h"
#include "base/json.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::cli {

namespace fs = std::filesystem;

struct Answer {
  int exit_code = -1;
  /// What it printed and what it complained of.
  std::string text;

  base::Json json() const {
    // Lines of progress may come before it, "[1/4] corpus" too.
    const bool at_start = text.starts_with("{\n") || text.starts_with("[\n");
    const size_t object = text.find("\n{\n"), array = text.find("\n[\n");
    const size_t begin = at_start ? 0 : std::min(object, array) + 1;
    return base::parse_json(text.substr(begin), "json");
  }
};

class CommandLine : public ::testing::Test {
 protected:
  Answer run(std::vector<std::string> arguments,
             std::map<std::string, std::string> environment = {}) {
    environment.emplace("WINDTUNNEL_LEASES", (folder_ / "leases").string());
    arguments.insert(arguments.begin(), WINDTUNNEL_BINARY_DIR "/windtunnel");
    const fs::path output = folder_ / ("output-" + std::to_string(++count_));
    const base::ExitStatus status =
        base::run_child({.command = arguments, .output_file = output, .environment = environment},
                        std::chrono::minutes(2));
    return {status.code.value_or(-1), base::read_file(output)};
  }

  tests::TemporaryFolder folder_;
  int count_ = 0;
};

}  // namespace windtunnel::cli

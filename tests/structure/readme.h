#pragma once
// The README against the registries.

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "tests/structure/sources.h"

namespace windtunnel::structure {

// Between the markers the README has what the registry says, so it cannot fall behind.
inline void expect_in_readme(const std::string& name, const std::string& expected) {
  const auto readme = root() / "README.md";
  const std::string open = "<!-- " + name + " -->\n", close = "<!-- /" + name + " -->";
  const auto text = std::filesystem::exists(readme) ? base::read_file(readme) : "";
  const auto begin = text.find(open), end = text.find(close);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos)
      << "README.md has no " << open << expected << close;
  const auto from = begin + open.size();
  EXPECT_EQ(text.substr(from, end - from), expected);
}

}  // namespace windtunnel::structure

#pragma once
// Markdown with YAML between two lines of "---": the YAML as JSON, with the line of every value.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace windtunnel::agent {

struct FrontMatter {
  base::Json document = base::Json::object();
  /// Dotted path -> line in the Markdown file, from 1.
  std::map<std::string, int> lines;
  /// Everything below the front matter, without the blank lines around it.
  std::string prose;

  /// The line of `path`, or of the nearest thing around it that is in the file.
  int line_of(std::string path) const;

  /// The error to throw for these problems: "programs/x.md line 12: night.experiments = 0: ...".
  base::ConfigError error(const std::string& subject, std::vector<base::Problem> problems) const;
};

/// Plain scalars become null, booleans or numbers where YAML's core schema says so; quoted ones are
/// strings. Errors: Error with the line for a missing fence, bad YAML, a key given twice, nesting
/// deeper than 64 or more than 100,000 values.
FrontMatter parse_front_matter(std::string_view markdown, const std::string& subject);

}  // namespace windtunnel::agent

#pragma once
// A configuration as a person names it on the command line.

#include <string>
#include <vector>

#include "base/json.h"

namespace windtunnel::cli {

/// The document of: a JSON file; a run folder or STUDY/RUN (its config.json); or a program, by path
/// or name (its `base`, with data.corpus set if its corpus is built). Overrides are applied;
/// nothing is resolved or checked yet. Errors: UsageError if `text` is none of these.
base::Json read_config(const std::string& text, const std::vector<std::string>& overrides);

}  // namespace windtunnel::cli

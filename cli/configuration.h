#pragma once
// A configuration as a person names it on the command line.

#include <string>
#include <vector>

#include "base/json.h"

namespace windtunnel::cli {

/// What the help of every command says of such an argument.
inline constexpr const char* kConfigurationHelp =
    "JSON file, run folder or STUDY/RUN, program or preset";

/// The document of: a JSON file; a run folder or STUDY/RUN (its config.json); a program, by path
/// or name (its `base`, with data.corpus set if its corpus is built); or a preset, NAME or
/// presets/NAME for programs/presets/NAME.json. Overrides are applied; nothing is resolved or
/// checked yet. Errors: UsageError with the programs and presets there are if `text` is none of
/// these.
base::Json read_config(const std::string& text, const std::vector<std::string>& overrides);

}  // namespace windtunnel::cli

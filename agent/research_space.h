#pragma once
// What a proposal may touch: the mutable paths of a program, their ranges, and the configuration
// that a patch makes.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/program.h"

namespace windtunnel::agent {

/// What no program can make mutable: it decides what is compared, or what a comparison is made
/// with.
const std::vector<std::string>& always_frozen();

/// The prefix that freezes `path`, or nullptr.
const std::string* frozen_by(const Program& program, std::string_view path);

/// The entry for `path`, or nullptr if no proposal may set it.
const MutablePath* find_mutable(const Program& program, std::string_view path);
bool is_mutable(const Program& program, std::string_view path);

/// Why `value` is outside the entry's range or choices, e.g. "must be >= 0.005 and <= 0.1";
/// nullopt if it is inside.
std::optional<std::string> value_problem(const MutablePath& entry, const base::Json& value);

/// Every key of a patch that is not mutable, or whose value is out of range.
std::vector<base::Problem> patch_problems(const Program& program, const base::Json& patch);

/// The schema of the value at a dotted path of a run configuration, or nullopt if there is none.
std::optional<base::Json> run_config_schema_at(std::string_view path);

/// "did you mean 'train.optimizer.learning_rate'?" or the known keys at the first wrong part.
std::string path_suggestion(std::string_view path);

/// A patch on the incumbent, resolved.
struct Candidate {
  /// The resolved configuration, or nullopt if it is illegal; then `problem` says why.
  std::optional<study::RunConfig> config;
  /// config as JSON without the seed; null if illegal. This is Experiment::config.
  base::Json resolved;
  std::string fingerprint;
  std::string problem;
};

/// Lays the patch on the incumbent and resolves it. Options of layer kinds that the incumbent's
/// pattern does not use come from the program's base.
///
/// `incumbent` is a resolved RunConfig as JSON.
Candidate make_candidate(const Program& program, const base::Json& incumbent,
                         const base::Json& patch);

/// The program's base without a patch, on the incumbent's corpus.
Candidate baseline_candidate(const Program& program, const base::Json& incumbent);

}  // namespace windtunnel::agent

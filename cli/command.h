#pragma once
// A command is one file: it adds its options to a subcommand and returns what to run. Registered at
// its bottom; main.cpp makes the help, reads the command line and turns errors into exit codes.

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/registry.h"

namespace windtunnel::cli {

/// Runs the command once its options are read; returns the exit code.
using Action = std::function<int()>;

struct Command {
  /// Heading in the help: "Jobs", "Looking", "Parts".
  std::string group;
  /// A line or two that can be typed as they stand.
  std::string example;
  /// Adds options to `app`, whose variables must live in what the action captures.
  std::function<Action(CLI::App& app)> setup;
};

using Commands = base::Registry<Command>;

/// The flags every command spells the same way.
void add_json_flag(CLI::App& app, bool& json);
void add_dry_run_flag(CLI::App& app, bool& dry_run);
/// The positional rest, "a.b=value" each.
void add_overrides(CLI::App& app, std::vector<std::string>& overrides);

/// For an option's check: a finite number above 0, which CLI11's own lets "nan" and "inf" pass for.
CLI::Validator positive_number();

/// A whole number >= 0. Errors: UsageError: "'x3' is not <what>".
int64_t parse_number(const std::string& text, const std::string& what);

/// Writes to stdout, with a line end.
void print(const std::string& text);
void print(const base::Json& value);

}  // namespace windtunnel::cli

#pragma once
// The rows of `fit` and `observations`: a study's ladder, a table, or a folder of event files.

#include <string>

#include "cli/command.h"
#include "scaling/observations.h"

namespace windtunnel::cli {

struct FitData {
  std::string data;
  std::string map;
  std::string where;
  std::string unit = "as given";
  std::string flops = scaling::convention::kSixND;
  int drop_worst = 0;
  /// Of a study: all curves and rates of its ladder, not what a law is fitted to.
  bool whole_ladder = false;
};

/// Adds `data` and the options above to a command.
void add_fit_data(CLI::App& app, FitData& data);

/// `law` decides what a map must have: the law of optima reads no loss.
/// Errors: UsageError if a table has no map or a study no finished ladder run; what the importers
/// refuse.
/// By a name that a person typed. Errors: UsageError with the laws there are.
const scaling::Law& law_asked_for(const std::string& name);

scaling::Observations read_fit_data(const FitData& data, const std::string& law);

}  // namespace windtunnel::cli

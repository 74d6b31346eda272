#pragma once
// Proposers against each other: the same program, budget and seeds, a study for each night.

#include <string>
#include <vector>

namespace windtunnel::cli {

struct ContestOptions {
  std::string program;
  std::vector<std::string> overrides;
  std::vector<std::string> proposers = {"random", "best_of_n"};
  int64_t nights = 3;
  bool dry_run = false;
  bool json = false;
};

/// Runs what is missing of the nights, under logs/contest-<program>/<proposer>-<night>, and prints
/// what each gained with the paired differences. Returns the exit code; the next call with the same
/// options continues where it was.
int run_contest(const ContestOptions& options);

}  // namespace windtunnel::cli

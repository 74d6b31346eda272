#pragma once
// `windtunnel doctor --llm`: what a server can really do for a language model.

#include <CLI/App.hpp>
#include <string>

namespace windtunnel::cli {

struct ModelCheck {
  /// A program whose language models are checked; empty: the one that the next fields describe.
  std::string program;
  std::string endpoint;
  std::string model;
  std::string key_variable;
  std::string key_file;
  std::string api = "auto";
  double timeout_seconds = 60;
  /// A study that keeps the profiles, so that its next turns use them; empty: none does.
  std::string study;
};

void add_model_options(CLI::App& app, ModelCheck& check);

/// Asks, prints what was found, and keeps it; the exit code is that of a failure if a model does
/// not work.
int check_models(const ModelCheck& check, bool json);

}  // namespace windtunnel::cli

// windtunnel: the control program. Links no LibTorch, so that it answers at once; what needs
// LibTorch is handed to windtunnel-train.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/interrupt.h"
#include "base/secrets.h"
#include "base/text.h"
#include "cli/command.h"

namespace windtunnel::cli {
namespace {

constexpr const char* kAbout =
    "Windtunnel: is this change to a language model real, and will it last at scale?\n\n"
    "  windtunnel demo                      everything once, on this machine, in minutes\n"
    "  windtunnel research programs/X.md    a night of experiments under a program\n"
    "  windtunnel ladder programs/X.md      a compute-matched ladder of sizes, and its law\n"
    "  windtunnel fit runs.csv              a law from any table of runs\n";

/// CLI11 would only say that one is required.
void require_command(const std::string& name) {
  const auto& commands = Commands::instance();
  if (commands.find(name) != nullptr) return;
  const std::string near = base::nearest_word(name, commands.names());
  throw base::UsageError("command '" + name + "' does not exist" +
                         (near.empty() ? "; " : "; did you mean '" + near + "'? ") +
                         "windtunnel --help lists all");
}

int run(int argc, char** argv) {
  CLI::App app(kAbout, "windtunnel");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "help of every command");
  int exit_code = base::kExitUsage;
  for (const char* group : {"Jobs", "Looking", "Parts"}) {
    for (const auto& kind : Commands::instance().kinds()) {
      if (kind.entry.group != group) continue;
      CLI::App* command = app.add_subcommand(kind.name, kind.summary)->group(group);
      command->footer("Example: " + kind.entry.example);
      const Action action = kind.entry.setup(*command);
      command->final_callback([action, &exit_code] { exit_code = action(); });
    }
  }
  if (argc > 1 && argv[1][0] != '-') require_command(argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 prints help for --help and the mistake otherwise.
    return app.exit(error) == 0 ? base::kExitDone : base::kExitUsage;
  }
  return exit_code;
}

void complain(const std::exception& error) {
  std::fprintf(stderr, "windtunnel: %s\n", base::redact(std::string(error.what())).c_str());
}

}  // namespace
}  // namespace windtunnel::cli

int main(int argc, char** argv) {
  namespace base = windtunnel::base;
  using windtunnel::cli::complain;
  base::catch_interrupts();
  try {
    return windtunnel::cli::run(argc, argv);
  } catch (const base::UsageError& error) {
    complain(error);
    return base::kExitUsage;
  } catch (const base::ConfigError& error) {
    complain(error);
    return base::kExitUsage;
  } catch (const base::Interrupted& error) {
    complain(error);
    return base::kExitInterrupted;
  } catch (const std::exception& error) {
    complain(error);
    return base::kExitFailed;
  }
}

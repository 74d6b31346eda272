// windtunnel-train: the program that links LibTorch. It trains one run or looks at its checkpoint;
// `windtunnel` starts it.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/command.h"

namespace windtunnel::cli {
namespace {

/// glibc would give every large block back to the system and fault it in again, a few times a step.
void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 2047 << 20);
  ::mallopt(M_TOP_PAD, 64 << 20);
}

int run(int argc, char** argv) {
  CLI::App app("Trains one run, or scores, samples and reads its checkpoint.", "windtunnel-train");
  app.require_subcommand(1);
  int exit_code = base::kExitUsage;
  for (const auto& kind : Commands::instance().kinds()) {
    CLI::App* command = app.add_subcommand(kind.name, kind.summary);
    const Action action = kind.entry.setup(*command);
    command->final_callback([action, &exit_code] { exit_code = action(); });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? base::kExitDone : base::kExitUsage;
  }
  return exit_code;
}

int fail(const char* what, int exit_code) {
  std::fprintf(stderr, "windtunnel-train: %s\n", what);
  return exit_code;
}

}  // namespace
}  // namespace windtunnel::cli

int main(int argc, char** argv) {
  namespace base = windtunnel::base;
  using windtunnel::cli::fail;
  windtunnel::cli::keep_freed_memory();
  base::catch_interrupts();
  base::start_log("windtunnel-train");
  try {
    return windtunnel::cli::run(argc, argv);
  } catch (const base::UsageError& error) {
    return fail(error.what(), base::kExitUsage);
  } catch (const base::ConfigError& error) {
    return fail(error.what(), base::kExitUsage);
  } catch (const base::DiskFull& error) {
    return fail(error.what(), base::kExitDiskFull);
  } catch (const base::Interrupted& error) {
    return fail(error.what(), base::kExitInterrupted);
  } catch (const c10::Error& error) {
    return fail(error.what_without_backtrace(), base::kExitFailed);
  } catch (const std::exception& error) {
    return fail(error.what(), base::kExitFailed);
  }
}

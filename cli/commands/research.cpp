#include "cli/session_command.h"

namespace windtunnel::cli {
namespace {

Action setup(CLI::App& app) {
  auto command = std::make_shared<SessionCommand>();
  command->with_night = true;
  command->with_ladder = false;
  add_session_options(app, *command);
  return [command] { return run_session(*command); };
}

const base::Registration<Command> registration{
    {.name = "research",
     .summary = "a night of experiments under a research program",
     .entry = {.group = "Jobs",
               .example = "windtunnel research overnight_cpu budget.hours=1",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

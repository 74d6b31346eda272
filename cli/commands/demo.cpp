#include "cli/session_command.h"

namespace windtunnel::cli {
namespace {

Action setup(CLI::App& app) {
  auto command = std::make_shared<SessionCommand>();
  command->session.program = "demo";
  command->with_night = true;
  command->with_ladder = true;
  add_session_options(app, *command);
  return [command] { return run_session(*command); };
}

const base::Registration<Command> registration{
    {.name = "demo",
     .summary = "everything once on this machine: corpus, night, ladder, law, report; in minutes",
     .entry = {.group = "Jobs", .example = "windtunnel demo", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

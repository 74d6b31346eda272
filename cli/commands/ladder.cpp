#include "cli/session_command.h"

namespace windtunnel::cli {
namespace {

Action setup(CLI::App& app) {
  auto command = std::make_shared<SessionCommand>();
  command->with_night = false;
  command->with_ladder = true;
  add_session_options(app, *command);
  app.add_option("--write-jobs", command->jobs_folder,
                 "write the runs as jobs and a Slurm array into this folder instead of running "
                 "them; given again, takes what ended and writes what follows");
  return [command] { return run_session(*command); };
}

const base::Registration<Command> registration{
    {.name = "ladder",
     .summary =
         "train the best configuration and its variants at several sizes, fit and test its law",
     .entry = {.group = "Jobs",
               .example = "windtunnel ladder fixed_wall_450s --dry-run",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

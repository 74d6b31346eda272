#include <fmt/format.h>

#include "agent/replay.h"
#include "base/text.h"
#include "cli/places.h"
#include "cli/session_command.h"

namespace windtunnel::cli {
namespace {

std::string delta(const std::optional<double>& value) {
  return value ? fmt::format("{:+.4f}", *value) : std::string("-");
}

std::string text_of(const agent::Replay& replay) {
  std::string text = fmt::format("{:>4}  {:<13} {:<15} {:>8}  {:<15} {:>8}\n", "", "kind",
                                 "recorded", "", "replayed", "");
  int64_t different = 0;
  for (const agent::ReplayedExperiment& row : replay.experiments) {
    different += row.is_same ? 0 : 1;
    text += fmt::format("{:>4}  {:<13} {:<15} {:>8}  {:<15} {:>8}  {}\n", row.number, row.kind,
                        row.recorded.empty() ? "-" : row.recorded, delta(row.recorded_delta),
                        row.replayed.empty() ? "-" : row.replayed, delta(row.replayed_delta),
                        row.is_same ? "" : "differs" + (row.note.empty() ? "" : ": " + row.note));
  }
  return text + fmt::format(
                    "{} experiments from {} recorded runs: {}; the night ended {}, the "
                    "replay {}\n",
                    replay.experiments.size(), replay.runs,
                    different == 0 ? std::string("every decision is the same")
                                   : fmt::format("{} decisions differ", different),
                    replay.recorded_stop.empty() ? "not yet" : replay.recorded_stop,
                    replay.replayed_stop);
}

int run_replay(const std::string& study, const SessionCommand& command) {
  std::vector<std::string> overrides = command.session.overrides;
  // The program's place on the command line holds the first override here.
  if (!command.session.program.empty()) {
    overrides.insert(overrides.begin(), command.session.program);
  }
  const agent::Replay replay = agent::replay(find_study(study), overrides);
  if (command.json) {
    base::Json result = base::to_json(replay);
    result["is_same"] = replay.is_same();
    print(result);
  } else {
    print(text_of(replay));
  }
  // With the rules as they were, a difference is a fault.
  return replay.is_same() || !overrides.empty() ? base::kExitDone : base::kExitFailed;
}

Action setup(CLI::App& app) {
  auto command = std::make_shared<SessionCommand>();
  auto replayed = std::make_shared<std::string>();
  command->with_night = true;
  command->with_ladder = false;
  add_session_options(app, *command);
  app.get_option("program")->required(false);
  app.add_option("--replay", *replayed,
                 "decide a recorded study again, without training; with a.b=value: under changed "
                 "rules");
  return [command, replayed] {
    if (!replayed->empty()) return run_replay(*replayed, *command);
    if (command->session.program.empty()) {
      throw base::UsageError("a program is needed: a Markdown file or one of " + program_names());
    }
    return run_session(*command);
  };
}

const base::Registration<Command> registration{
    {.name = "research",
     .summary = "a night of experiments under a research program",
     .entry = {.group = "Jobs",
               .example = "windtunnel research overnight_cpu budget.hours=1\n"
                          "  windtunnel research --replay demo decision.confidence=0.99",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include "cli/session_command.h"

#include <fmt/format.h>

namespace windtunnel::cli {
namespace {

int write_jobs(const SessionCommand& command) {
  StudySession session(command.session);
  session.expect_steps(2);
  session.corpus();
  const scaling::JobsWritten written = session.write_jobs(command.jobs_folder);
  if (command.json) {
    base::Json json = base::to_json(written);
    json["script"] = written.script.string();
    print(json);
  } else if (written.runs.empty()) {
    print(
        fmt::format("all {} runs have ended; the same command without --write-jobs fits and "
                    "tests their law",
                    written.ended));
  } else {
    print(
        fmt::format("{} runs to do, {} ended, {} rungs follow from these\nsbatch {}\n"
                    "then the same command again, which takes their results in",
                    written.runs.size(), written.ended, written.waiting, written.script.string()));
  }
  return base::kExitDone;
}

}  // namespace

void add_session_options(CLI::App& app, SessionCommand& command) {
  SessionOptions& session = command.session;
  if (session.program.empty()) {
    app.add_option("program", session.program, "program: a Markdown file or a name in programs/")
        ->required();
  }
  app.add_option("--study", session.study,
                 "folder, or name under logs/; the program's name if absent");
  app.add_option("--files", session.files,
                 "your own text as corpus: glob patterns, e.g. 'notes/**/*.txt'");
  app.add_flag("--fresh", session.fresh, "remove what the study left and start over");
  add_overrides(app, session.overrides);
  add_json_flag(app, command.json);
  add_dry_run_flag(app, command.dry_run);
}

int run_session(const SessionCommand& command) {
  if (command.dry_run) {
    if (command.json) {
      print(plan_json(command.session, command.with_night, command.with_ladder));
    } else {
      print(plan_text(command.session, command.with_night, command.with_ladder));
    }
    return base::kExitDone;
  }
  if (!command.jobs_folder.empty()) return write_jobs(command);
  StudySession session(command.session);
  // corpus and report always, the ladder counts its law as a step of its own.
  session.expect_steps(2 + (command.with_night ? 1 : 0) + (command.with_ladder ? 2 : 0));
  session.corpus();
  if (command.with_night) session.night();
  if (command.with_ladder) session.ladder();
  session.report();
  if (command.json) {
    print(session.summary_json());
  } else {
    print("\n" + session.summary_text());
  }
  return base::kExitDone;
}

}  // namespace windtunnel::cli

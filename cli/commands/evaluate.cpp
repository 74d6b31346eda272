#include <pwd.h>
#include <unistd.h>

#include <memory>

#include "base/files.h"
#include "cli/command.h"
#include "cli/hand_on.h"
#include "cli/places.h"
#include "corpus/packed_corpus.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string run;
  std::string text;
  std::string split = "validation";
  bool json = false;
};

std::string user_name() {
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_name : "user " + std::to_string(::getuid());
}

/// Writes the access to the journal before it happens. The study must not be at work: a night that
/// sees locked scores would choose by them.
void count_access(const fs::path& run, const std::string& who) {
  const fs::path study = fs::absolute(run).lexically_normal().parent_path().parent_path();
  if (!fs::exists(study / "journal.db")) {
    throw base::UsageError(run.string() +
                           " belongs to no study: an access to the locked split is counted in a "
                           "study's journal; train with windtunnel run");
  }
  const base::FolderLock lock(study);
  study::Journal journal(study / "journal.db");
  journal.add_event(study::kLockedAccessEvent, "run " + run.filename().string() + " for " + who);
}

/// Before anything is counted. Errors: Error if the run's corpus has none.
void require_locked_split(const fs::path& run) {
  const base::Json config = base::read_json(run / "config.json");
  const base::Json* corpus = base::find_path(config, "data.corpus");
  const fs::path folder = corpus && corpus->is_string() ? corpus->get<std::string>() : "";
  corpus::split_of(corpus::read_manifest(folder), corpus::Split::kLocked, folder);
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "run folder, or STUDY/RUN")->required();
  auto* text =
      app.add_option("--text", options->text, "score this file instead of the validation split");
  app.add_option("--split", options->split,
                 "validation, or locked: a split for the last word; each access is counted")
      ->check(CLI::IsMember({"validation", "locked"}))
      ->capture_default_str()
      ->excludes(text);
  add_json_flag(app, options->json);
  return [options]() -> int {
    const fs::path run = find_run(options->run);
    std::vector<std::string> arguments{"evaluate", "--run", run.string()};
    if (options->split != "validation") {
      const std::string who = user_name();
      require_locked_split(run);
      count_access(run, who);
      arguments.insert(arguments.end(), {"--split", options->split, "--who", who});
    }
    if (!options->text.empty()) arguments.insert(arguments.end(), {"--text", options->text});
    if (options->json) arguments.push_back("--json");
    hand_on(arguments);
  };
}

const base::Registration<Command> registration{
    {.name = "evaluate",
     .summary = "bits per byte of a run's checkpoint over a held-out split or a file",
     .entry = {
         .group = "Parts", .example = "windtunnel evaluate demo/baseline-s1", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

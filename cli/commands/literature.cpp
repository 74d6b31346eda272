#include "agent/literature.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "agent/budget.h"
#include "agent/facts.h"
#include "base/files.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/corpora.h"
#include "cli/places.h"
#include "cli/study_session.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace fs = std::filesystem;
namespace {

using base::Json;

struct Options {
  SessionOptions session;
  std::string papers;
  int64_t rounds = 0;
  bool json = false;
  bool dry_run = false;
};

/// The tournament that the options ask for, before anything is asked.
struct Plan {
  agent::Program program;
  agent::LiteratureOptions literature;
  agent::PaperFolder papers;
  fs::path study;
};

Plan make_plan(const Options& options) {
  Plan plan{.program = load_program(options.session)};
  plan.literature = agent::literature_options(plan.program);
  if (options.rounds > 0) plan.literature.rounds = options.rounds;
  plan.papers = agent::read_papers(options.papers);
  plan.study = fs::absolute(
      study_folder(options.session.study.empty() ? plan.program.name : options.session.study));
  // Its vocabulary is part of what a change would cost.
  const fs::path corpus = corpus_folder(plan.program.corpus);
  if (fs::exists(corpus / "manifest.json")) {
    base::set_path(plan.program.base, "data.corpus", fs::absolute(corpus).string());
  }
  return plan;
}

void print_plan(const Plan& plan, const Options& options) {
  agent::Literature so_far;
  if (!options.session.fresh && fs::exists(plan.study / "journal.db")) {
    study::Journal journal(plan.study / "journal.db", /*read_only=*/true);
    so_far = agent::stored_literature(agent::journal_services(journal)).value_or(so_far);
  }
  const auto done = static_cast<int64_t>(so_far.rounds.size());
  const int64_t left = std::max<int64_t>(0, plan.literature.rounds - done);
  const int64_t passes = so_far.is_done() && left == 0 ? 0 : plan.literature.synthesis_passes;
  if (options.json) {
    print(Json{{"program", plan.program.name},
               {"study", plan.study.string()},
               {"papers", plan.papers.papers.size()},
               {"ignored_files", plan.papers.ignored.size()},
               {"rounds", plan.literature.rounds},
               {"rounds_done", done},
               {"papers_per_round", plan.literature.papers_per_round},
               {"fewest_calls", left + (passes > 0 ? 1 : 0)},
               {"most_calls", 2 * (left + passes)}});
    return;
  }
  print(fmt::format(
      "program  {}\nstudy    {}\npapers   {} in {}\nrounds   {} of {} papers each, {} done\n"
      "calls    {} to {} of the language model: one for each round and pass, two where an answer "
      "needs repair",
      plan.program.name, plan.study.string(), plan.papers.papers.size(), options.papers,
      plan.literature.rounds, plan.literature.papers_per_round, done, left + (passes > 0 ? 1 : 0),
      2 * (left + passes)));
}

std::string queue_text(const agent::Literature& literature) {
  std::string text = fmt::format("\n{} ideas from {} papers\n\nhypothesis  {} [{}]\n",
                                 literature.num_ideas(), literature.cited.size(),
                                 literature.hypothesis, base::join(literature.citations, ", "));
  int rank = 0;
  for (const study::Proposal& change : literature.queue) {
    text += fmt::format(
        "\n{:>3}. {} [{}]\n     {}\n     predicted {:+.4f} [{:+.4f}, {:+.4f}] bits "
        "per byte; {}\n",
        ++rank, change.hypothesis, base::join(change.citations, ", "), change.patch.dump(),
        change.prediction.delta_bits_per_byte, change.prediction.interval_low,
        change.prediction.interval_high, change.diagnostic);
  }
  text += "\n";
  for (const auto& [key, title] : literature.cited) text += fmt::format("[{}] {}\n", key, title);
  return text;
}

int run(const Options& options) {
  Plan plan = make_plan(options);
  base::Progress progress;
  if (!plan.papers.ignored.empty()) {
    progress.line(fmt::format("{} files of other kinds are not read, {} for one",
                              plan.papers.ignored.size(), plan.papers.ignored.front().string()));
  }
  if (options.dry_run) {
    print_plan(plan, options);
    return base::kExitDone;
  }
  const base::FolderLock lock(plan.study);
  study::Journal journal(plan.study / "journal.db");
  if (options.session.fresh) journal.set_fact(agent::fact::kLiterature, nullptr);
  agent::Budget budget(plan.program.budget, journal);
  agent::ProposerServices services = agent::journal_services(journal);
  services.chat = agent::chat_hooks(budget);
  progress.phase("literature");
  const agent::LiteratureView view{
      .update = [&](double fraction,
                    const std::string& detail) { progress.update(fraction, detail); },
      .line = [&](const std::string& line) { progress.line("  " + line); }};
  const agent::Literature literature =
      agent::run_literature(plan.program, plan.literature, plan.papers, services, view);
  progress.clear();
  if (options.json) {
    print(base::to_json(literature));
  } else {
    print(queue_text(literature));
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("program", options->session.program,
                 "program with a proposer of kind literature: a Markdown file or a name")
      ->required();
  app.add_option("--papers", options->papers,
                 "folder of abstracts or papers: .txt, .md, .bib, or .jsonl of arXiv metadata")
      ->required();
  app.add_option("--rounds", options->rounds, "rounds of reading; the program's if absent")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  app.add_option("--study", options->session.study,
                 "folder, or name under logs/; the program's name if absent");
  app.add_flag("--fresh", options->session.fresh, "start the tournament over");
  add_overrides(app, options->session.overrides);
  add_json_flag(app, options->json);
  add_dry_run_flag(app, options->dry_run);
  return [options] { return run(*options); };
}

const base::Registration<Command> registration{
    {.name = "literature",
     .summary = "a tournament over a folder of papers, down to a ranked queue of experiments",
     .entry = {.group = "Jobs",
               .example = "windtunnel literature literature_tournament --papers abstracts",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

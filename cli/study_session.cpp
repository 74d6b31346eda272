#include "cli/study_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/chat_options.h"
#include "agent/research.h"
#include "agent/summary.h"
#include "base/fingerprint.h"
#include "base/text.h"
#include "cli/corpora.h"
#include "cli/ladder_progress.h"
#include "cli/places.h"
#include "cli/run_progress.h"
#include "report/report.h"
#include "scaling/ladder_jobs.h"

namespace windtunnel::cli {
namespace fs = std::filesystem;
namespace {

using base::Json;

/// The night on the terminal.
class TerminalNight final : public agent::NightView {
 public:
  explicit TerminalNight(base::Progress& progress) : progress_(progress) {}

  void update(const agent::NightProgress& night) override {
    std::string detail = night.phase;
    if (night.experiment > 0) {
      detail = fmt::format("experiment {} ({}/{} decided)", night.experiment, night.decided,
                           night.planned);
    }
    if (!night.waiting.empty()) detail += ": " + night.waiting;
    const std::string runs = text_of(night.runs);
    if (!runs.empty()) detail += ": " + runs;
    if (night.seconds_left) {
      progress_.update_with_left(night.fraction, *night.seconds_left, detail);
    } else {
      progress_.update(night.fraction, detail);
    }
  }
  void line(const std::string& text) override { progress_.line("  " + text); }

 private:
  base::Progress& progress_;
};

/// The resolved base, with the corpus if there is one already.
study::RunConfig base_config(const agent::Program& program) {
  Json document = program.base;
  const fs::path corpus = corpus_folder(program.corpus);
  if (fs::exists(corpus / "manifest.json")) {
    base::set_path(document, "data.corpus", fs::absolute(corpus).string());
  }
  return study::resolve_run_config(document, program.name + ": base");
}

const scaling::LadderConfig& ladder_config(const agent::Program& program) {
  if (program.ladder.rungs.empty()) {
    throw base::UsageError("program '" + program.name + "' has no `ladder`; add its rungs");
  }
  return program.ladder;
}

/// Exact FLOP/s that one run of this study reached: its largest run of a ladder, or else a run of
/// the configuration to beat, `base`.
std::optional<scaling::Speed> measured_speed(const study::Journal& journal,
                                             const agent::NightSummary& night,
                                             const study::RunConfig& base) {
  std::optional<scaling::Speed> of_incumbent;
  std::optional<scaling::Speed> of_ladder;
  double most_flops = 0;
  for (const study::JournalRun& run : journal.runs()) {
    if (!run.record || !run.record->completed()) continue;
    const study::TrainResult& train = run.record->train;
    const bool has_flops = train.flops_exact && train.seconds.training.value_or(0) > 0;
    if (run.purpose == "ladder" && has_flops && *train.flops_exact > most_flops) {
      most_flops = *train.flops_exact;
      of_ladder = {.flops_per_second = most_flops / *train.seconds.training,
                   .is_measured = true,
                   .source = run.id};
    } else if (run.experiment == night.incumbent && !run.is_reference() &&
               train.tokens_per_second) {
      of_incumbent = {
          .flops_per_second = *train.tokens_per_second * study::training_flops_per_token(base),
          .is_measured = true,
          .source = run.id};
    }
  }
  return of_ladder ? of_ladder : of_incumbent;
}

/// The plan of the ladder of the best configuration so far; `journal` is null where there is no
/// study yet.
scaling::LadderPlan make_ladder_plan(const agent::Program& program, const Json& base,
                                     const study::Journal* journal) {
  const agent::NightSummary night =
      journal != nullptr ? agent::summarise(*journal) : agent::NightSummary{};
  Json best = night.best_config.is_null() ? base : night.best_config;
  const study::RunConfig config = study::resolve_run_config(best, "the best configuration");
  const scaling::LadderConfig& ladder = ladder_config(program);
  // A night that went on may have a new best; the ladder stays that of the one it was planned for.
  const auto stored = journal != nullptr ? journal->fact("ladder.plan") : std::nullopt;
  if (stored && !night.best_config.is_null() && stored->at("ladder") == base::to_json(ladder)) {
    return base::from_trusted_json<scaling::LadderPlan>(*stored);
  }
  scaling::LadderSetting setting{.slots = static_cast<int>(program.slots)};
  if (journal != nullptr) setting.speed = measured_speed(*journal, night, config);
  if (!setting.speed) setting.speed = scaling::assumed_speed(config, ladder);
  if (fs::exists(fs::path(config.data.corpus) / "manifest.json")) {
    const auto manifest = corpus::read_manifest(config.data.corpus);
    setting.corpus_train_tokens = static_cast<double>(manifest.train.tokens);
    setting.data_fingerprint = manifest.fingerprint();
  }
  return scaling::plan_ladder(config, ladder, setting);
}

/// The same before anything is done, from what a study has left if there is one.
scaling::LadderPlan ladder_plan_of(const SessionOptions& options, const agent::Program& program) {
  const fs::path file =
      study_folder(options.study.empty() ? program.name : options.study) / "journal.db";
  const Json base = base::to_json(base_config(program));
  if (options.fresh || !fs::exists(file)) return make_ladder_plan(program, base, nullptr);
  const study::Journal journal(file, true);
  return make_ladder_plan(program, base, &journal);
}

/// How many runs a night without a kept change takes, and their budget.
struct NightCost {
  int64_t fewest = 0;
  int64_t most = 0;
  double seconds_per_run = 0;
};

NightCost night_cost(const agent::Program& program, const study::RunConfig& config) {
  const int64_t replicates = program.baseline_runs();
  const int64_t experiments = program.night.experiments;
  NightCost cost;
  cost.fewest = replicates + experiments * program.decision.min_pairs;
  cost.most =
      std::max(replicates, program.decision.max_pairs) + experiments * program.decision.max_pairs;
  if (config.train.budget.kind == "seconds") cost.seconds_per_run = config.train.budget.amount;
  return cost;
}

/// What --fresh may empty. A mistyped --study must not cost anybody their files.
void require_study_or_nothing(const fs::path& folder) {
  if (!fs::exists(folder) || fs::exists(folder / "journal.db")) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() == ".lock") continue;
    throw base::UsageError("folder " + folder.string() +
                           " holds files but no study (no journal.db): --fresh does not remove "
                           "them; choose another --study, or empty the folder yourself");
  }
}

/// The journal goes last: until then the folder is known for a study.
void empty_study(const fs::path& folder) {
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    if (name != ".lock" && name != "journal.db") others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove_all(path);
  fs::remove(folder / "journal.db");
}

/// What of it the study has already; "" if nothing.
std::string left_of_ladder(const SessionOptions& options, const agent::Program& program,
                           const scaling::LadderPlan& plan) {
  const fs::path file =
      study_folder(options.study.empty() ? program.name : options.study) / "journal.db";
  if (options.fresh || !fs::exists(file)) return "";
  const study::Journal journal(file, true);
  const auto record_of = scaling::records_in(journal);
  const scaling::LadderCount count =
      scaling::count_runs(plan, scaling::ladder_state(plan, record_of), record_of);
  if (count.ended == 0) return "";
  std::string text = fmt::format("in this study {} of {} runs have ended", count.ended, count.all);
  if (count.ended < count.all && plan.expected_seconds) {
    text +=
        "; the others take about " +
        base::format_duration(*plan.expected_seconds * (1 - count.flops_ended / count.flops_all));
  }
  return text + "\n";
}

std::string bits(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : std::string("not measured");
}

}  // namespace

agent::Program load_program(const SessionOptions& options) {
  agent::Program program = agent::read_program(find_program(options.program), options.overrides);
  if (!options.files.empty()) {
    // Named by the patterns, so that other files are another corpus.
    corpus::CorpusRecipe recipe = corpus::recipe_for_files(options.files);
    recipe.name = "files-" + base::short_fingerprint(base::fingerprint(Json(options.files)));
    const fs::path file = home() / ".windtunnel" / "recipes" / (recipe.name + ".json");
    base::write_json(file, base::to_json(recipe));
    program.corpus = {.recipe = file.string(), .folder = ""};
  }
  return program;
}

Json plan_json(const SessionOptions& options, bool with_night, bool with_ladder) {
  const agent::Program program = load_program(options);
  const study::RunConfig config = base_config(program);
  Json plan = {
      {"program", program.name},
      {"study", study_folder(options.study.empty() ? program.name : options.study).string()},
      {"corpus",
       {{"folder", corpus_folder(program.corpus).string()},
        {"built", fs::exists(corpus_folder(program.corpus) / "manifest.json")}}},
      {"base", base::to_json(config)}};
  if (with_night) {
    const NightCost cost = night_cost(program, config);
    plan["night"] = {{"experiments", program.night.experiments},
                     {"fewest_runs", cost.fewest},
                     {"most_runs", cost.most},
                     {"slots", program.slots}};
  }
  if (with_ladder) {
    plan["ladder"] = base::to_json(ladder_plan_of(options, program));
  }
  return plan;
}

std::string plan_text(const SessionOptions& options, bool with_night, bool with_ladder) {
  const agent::Program program = load_program(options);
  const study::RunConfig config = base_config(program);
  const fs::path corpus = corpus_folder(program.corpus);
  std::string text =
      fmt::format("program  {}\nstudy    {}\ncorpus   {} ({})\n", program.name,
                  study_folder(options.study.empty() ? program.name : options.study).string(),
                  corpus.string(), fs::exists(corpus / "manifest.json") ? "built" : "to be built");
  if (with_night) {
    const NightCost cost = night_cost(program, config);
    text += fmt::format(
        "night    {} experiments and {} baseline replicates: {} to {} runs, and up to {} for each "
        "kept change, {} at once\n",
        program.night.experiments, program.baseline_runs(), cost.fewest, cost.most,
        2 * program.decision.incumbent_runs, program.slots);
    if (cost.seconds_per_run > 0) {
      const double slots = static_cast<double>(program.slots);
      text += fmt::format(
          "         {} to {} of training\n",
          base::format_duration(static_cast<double>(cost.fewest) * cost.seconds_per_run / slots),
          base::format_duration(static_cast<double>(cost.most) * cost.seconds_per_run / slots));
    }
  }
  if (with_ladder) {
    const scaling::LadderPlan plan = ladder_plan_of(options, program);
    text += "ladder   of the best configuration so far; a change that is kept replaces it\n" +
            scaling::ladder_table(plan) + left_of_ladder(options, program, plan);
  }
  return text;
}

StudySession::StudySession(const SessionOptions& options) : program_(load_program(options)) {
  folder_ = fs::absolute(study_folder(options.study.empty() ? program_.name : options.study));
  if (options.fresh) require_study_or_nothing(folder_);
  // Before the first child process: packages, figures and trainers need no key.
  agent::protect_keys(program_.proposers);
  lock_ = std::make_unique<base::FolderLock>(folder_);
  if (options.fresh) empty_study(folder_);
  base::remove_leftovers(folder_);
  journal_ = std::make_unique<study::Journal>(folder_ / "journal.db");
  journal_->add_event(journal_->runs().empty() ? "started" : "continued",
                      "program " + program_.name);
}

StudySession::~StudySession() = default;

void StudySession::phase(const std::string& name) { progress_.phase(name, ++step_, steps_); }

study::Runner& StudySession::runner() {
  if (!runner_) {
    runner_ = study::make_process_runner(folder_, static_cast<int>(program_.slots),
                                         study::trainer_program());
  }
  return *runner_;
}

void StudySession::corpus() {
  phase("corpus");
  const corpus::CorpusManifest manifest = ensure_corpus(program_.corpus, progress_);
  const std::string folder = fs::absolute(corpus_folder(program_.corpus)).string();
  Json fact = base::to_json(manifest);
  fact["folder"] = folder;
  fact["fingerprint"] = manifest.fingerprint();
  const auto known = journal_->fact("corpus");
  if (known && known->at("fingerprint") != fact["fingerprint"]) {
    throw base::Error("study " + folder_.string() +
                      " was begun on another corpus than the one now in " + folder +
                      "; start over with --fresh, or choose another --study");
  }
  journal_->set_fact("corpus", fact);
  base::set_path(program_.base, "data.corpus", folder);
  progress_.line("  " + describe(manifest));
}

void StudySession::night() {
  phase("night of research");
  TerminalNight view(progress_);
  agent::run_night(program_, *journal_, runner(), folder_, view);
}

void StudySession::ladder() {
  phase("ladder of sizes");
  const scaling::LadderPlan plan = make_ladder_plan(program_, program_.base, journal_.get());
  progress_.line(scaling::ladder_table(plan));
  scaling::store_plan(plan, *journal_);
  const int64_t collected = scaling::collect_jobs(plan, *journal_, folder_);
  if (collected > 0) progress_.line(fmt::format("  {} runs of jobs taken in", collected));
  const std::vector<std::string> open = scaling::open_jobs(plan, *journal_);
  if (!open.empty()) {
    throw base::Error(fmt::format(
        "{} runs are written out as jobs and have not ended ({} ...): run them and give this "
        "command again, with --write-jobs for what follows; or remove their folder to run them "
        "here",
        open.size(), open.front()));
  }
  LadderProgress shown(plan, *journal_, progress_);
  scaling::run_ladder(plan, *journal_, runner(), folder_,
                      [&](const study::Runner& flying) { shown.tick(flying); });
  const auto records = scaling::records_in(*journal_);
  const scaling::LadderState state = scaling::ladder_state(plan, records);
  progress_.line(scaling::outcome_table(state.rungs, scaling::paired_differences(state, records)));
  if (const auto rates = scaling::fit_ladder_rates(*journal_)) {
    progress_.line("law of the tuned rates, without the prior of the rule that carries them:\n" +
                   scaling::fit_page(*rates));
  }
  for (const scaling::GainVerdict& verdict : scaling::judge_ladder(*journal_)) {
    progress_.line(scaling::gain_text(verdict));
  }
  phase("law");
  const scaling::LawFit fit = scaling::fit_ladder(*journal_);
  progress_.line(scaling::fit_page(fit));
}

scaling::JobsWritten StudySession::write_jobs(const fs::path& folder) {
  phase("jobs of the ladder");
  const scaling::LadderPlan plan = make_ladder_plan(program_, program_.base, journal_.get());
  progress_.line(scaling::ladder_table(plan));
  return scaling::write_jobs(plan, *journal_, folder_, fs::absolute(folder).lexically_normal(),
                             fs::read_symlink("/proc/self/exe"));
}

void StudySession::report() {
  phase("report");
  report::write_report(folder_);
}

Json StudySession::summary_json() const {
  Json summary = {{"study", folder_.string()},
                  {"report", (folder_ / "report.html").string()},
                  {"night", base::to_json(agent::summarise(*journal_))}};
  summary["ladder"] = {{"rungs", journal_->fact("ladder.rungs").value_or(Json())},
                       {"pairs", journal_->fact("ladder.pairs").value_or(Json())},
                       {"gains", journal_->fact("ladder.gains").value_or(Json())}};
  summary["fit"] = journal_->fact("fit").value_or(Json());
  return summary;
}

std::string StudySession::summary_text() const {
  const agent::NightSummary night = agent::summarise(*journal_);
  std::string text;
  if (night.runs > 0) {
    text += fmt::format("experiments  {} kept, {} discarded, {} to repair, {} failed, {} vetoed\n",
                        night.kept, night.discarded, night.repair, night.failed, night.vetoed);
    text += fmt::format("best         {} bits per byte, baseline {}",
                        bits(night.best_bits_per_byte), bits(night.baseline_bits_per_byte));
    if (night.noise && night.noise->run_sd) {
      text += fmt::format(", noise of one run {:.4f}", *night.noise->run_sd);
    }
    text += "\n";
    for (const study::Calibration& row : night.calibration) {
      if (row.proposer != "all" || row.measured == 0) continue;
      text += fmt::format("forecasts    {} of {} changes fell into their 80 % intervals\n",
                          row.covered, row.measured);
    }
  }
  for (const Json& gain : journal_->fact("ladder.gains").value_or(Json::array())) {
    const auto verdict = base::from_trusted_json<scaling::GainVerdict>(gain);
    text += fmt::format("gain         {} against {}: {}; {}\n", verdict.changed, verdict.baseline,
                        verdict.verdict, base::join(verdict.reasons, "; "));
  }
  if (const auto fact = journal_->fact("fit")) {
    const auto fit = base::from_trusted_json<scaling::LawFit>(*fact);
    std::vector<std::string> parameters;
    for (const auto& [name, value] : fit.parameters) {
      const auto found = fit.verdict.parameters.find(name);
      parameters.push_back(fmt::format(
          "{} {} ({})", name, base::format_number(value, 4),
          found == fit.verdict.parameters.end() ? "no verdict" : found->second.verdict));
    }
    text += fmt::format("law          {}; {}\n", fit.formula, base::join(parameters, ", "));
    for (const scaling::HeldOut& row : fit.held_out) {
      text += fmt::format(
          "held out     {}: forecast {:.4f} in [{}, {}], measured {:.4f}, {:+.1f} %, {}\n",
          row.name, row.predicted, bits(row.interval.low), bits(row.interval.high), row.measured,
          100 * row.relative_error, row.covered ? "covered" : "not covered");
    }
  }
  return text + "report       " + (folder_ / "report.html").string() + "\n";
}

}  // namespace windtunnel::cli

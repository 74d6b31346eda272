#include <fmt/format.h>

#include <memory>

#include "base/files.h"
#include "base/fingerprint.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/configuration.h"
#include "cli/places.h"
#include "cli/run_progress.h"
#include "study/run_missing.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string config;
  std::string study = "runs";
  std::string name;
  std::vector<std::string> overrides;
  bool json = false;
  bool dry_run = false;
};

std::string summary(const study::RunRecord& record, const std::filesystem::path& folder) {
  std::string text = fmt::format("{}: {}", record.id, record.train.outcome);
  if (!record.train.message.empty()) text += ", " + record.train.message;
  if (const auto bits = record.bits_per_byte()) {
    text += fmt::format("\n{:.4f} bits per byte over {} bytes of validation text", *bits,
                        record.evaluation->bytes);
    if (const auto source = record.evaluation->bits_per_byte_source) {
      text += fmt::format("\n{:.4f} by the source's count of bytes, not for comparisons", *source);
    }
  }
  if (record.train.steps && record.train.tokens && record.train.tokens_per_second) {
    text +=
        fmt::format("\n{} steps, {} tokens, {} tokens/s, {} active parameters", *record.train.steps,
                    base::format_count(static_cast<double>(*record.train.tokens)),
                    base::format_count(*record.train.tokens_per_second),
                    base::format_count(static_cast<double>(record.parameters_active)));
  }
  return text + "\n" + folder.string();
}

int run(const Options& options) {
  const study::RunConfig config =
      study::resolve_run_config(read_config(options.config, options.overrides), options.config);
  if (options.dry_run) {
    print(base::to_json(config));
    return base::kExitDone;
  }
  if (config.data.corpus.empty()) {
    throw base::UsageError(
        "data.corpus = \"\": a run needs a corpus; make one with 'windtunnel corpus' "
        "and add data.corpus=FOLDER");
  }
  const std::filesystem::path study = study_folder(options.study);
  const base::FolderLock lock(study);
  study::Journal journal(study / "journal.db");
  const auto runner = study::make_process_runner(study, 1, study::trainer_program());
  const std::string id =
      options.name.empty()
          ? fmt::format("{}-s{}", base::short_fingerprint(study::config_fingerprint(config)),
                        config.train.seed)
          : options.name;
  base::Progress progress;
  progress.phase("run " + id);
  const auto records = study::run_missing(
      {{{.id = id, .purpose = "run", .config = config, .resume = true}, std::nullopt}}, journal,
      *runner, study, [&](const study::Runner& flying) {
        const auto glimpses = flying.progress();
        if (!glimpses.empty()) progress.update(glimpses[0].latest.progress, text_of(glimpses));
      });
  progress.clear();
  const study::RunRecord& record = records.front();
  if (record.config_fingerprint != study::config_fingerprint(config)) {
    throw base::Error("run " + id + " in " + study.string() +
                      " was made with another configuration; choose another --name");
  }
  if (options.json) {
    print(base::to_json(record));
  } else {
    print(summary(record, study / "runs" / id));
  }
  return record.completed() ? base::kExitDone : base::kExitFailed;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("config", options->config, kConfigurationHelp)->required();
  app.add_option("--study", options->study, "study the run belongs to")->capture_default_str();
  app.add_option("--name", options->name, "name of the run; from its configuration if absent");
  add_overrides(app, options->overrides);
  add_json_flag(app, options->json);
  add_dry_run_flag(app, options->dry_run);
  return [options] { return run(*options); };
}

const base::Registration<Command> registration{
    {.name = "run",
     .summary = "train and score one configuration; continues where it was interrupted",
     .entry = {.group = "Jobs",
               .example = "windtunnel run demo train.budget.amount=30 model.width=64",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

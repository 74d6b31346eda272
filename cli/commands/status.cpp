#include <fmt/format.h>

#include <memory>

#include "agent/budget.h"
#include "agent/summary.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/places.h"
#include "cli/run_progress.h"
#include "study/journal.h"
#include "study/runner.h"

namespace windtunnel::cli {
namespace fs = std::filesystem;
namespace {

struct Options {
  std::string study;
  bool json = false;
};

std::string bits(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : std::string("not measured");
}

/// What is spent of what the program allows; reservations count.
std::string budget_text(const study::Journal& journal) {
  const auto program = journal.fact(agent::fact::kProgram);
  const auto limit = [&](const char* name) {
    const base::Json* value =
        program ? base::find_path(*program, std::string("budget.") + name) : nullptr;
    return value && value->is_number() ? value->get<double>() : 0.0;
  };
  const auto part = [&](const char* name, double spent, const std::string& shown,
                        const std::string& of) {
    return limit(name) > 0 ? shown + " of " + of : (spent > 0 ? shown : std::string());
  };
  const double seconds = journal.spent(agent::resource::kDeviceSeconds);
  const double dollars = journal.spent(agent::resource::kDollars);
  const double hours = journal.fact(agent::fact::kHours).value_or(0).get<double>();
  std::vector<std::string> parts;
  for (std::string text :
       {part("device_seconds", seconds, base::format_duration(seconds) + " of device time",
             base::format_duration(limit("device_seconds"))),
        part("runs", 0, base::format_number(journal.spent(agent::resource::kRuns)) + " runs",
             base::format_number(limit("runs"))),
        part("dollars", dollars, base::format_number(dollars, 3) + " dollars",
             base::format_number(limit("dollars"))),
        part("hours", hours, base::format_number(hours, 2) + " hours of work",
             base::format_number(limit("hours")))}) {
    if (!text.empty()) parts.push_back(std::move(text));
  }
  return parts.empty() ? "" : "  spent          " + base::join(parts, ", ") + "\n";
}

std::vector<study::Journal::Event> locked_accesses(const study::Journal& journal) {
  auto events = journal.events();
  std::erase_if(events, [](const auto& event) { return event.kind != study::kLockedAccessEvent; });
  return events;
}

std::string text(const std::string& name, const agent::NightSummary& night,
                 const study::Journal& journal, const fs::path& folder) {
  std::string out = fmt::format(
      "{}\n  experiments    {} kept, {} discarded, {} to repair, {} failed, {} given up early, {} "
      "vetoed, {} in progress; {} kept once and doubted now; {} controls\n"
      "  bits per byte  baseline {}, best {} ({})\n",
      name, night.kept, night.discarded, night.repair, night.failed, night.aborted, night.vetoed,
      night.undecided, night.doubted, night.controls, bits(night.baseline_bits_per_byte),
      bits(night.best_bits_per_byte),
      night.incumbent == 0 ? std::string("the baseline")
                           : fmt::format("experiment {}", night.incumbent));
  if (night.noise && night.noise->run_sd) {
    out += fmt::format("  noise          {:.4f} bits per byte, sd of one run over seeds\n",
                       *night.noise->run_sd);
  }
  if (const auto rate = night.abort_audit.false_abort_rate()) {
    out += fmt::format(
        "  early aborts   {:.0f} % wrong: of {} that ran on although the rule had spoken, {} "
        "kept\n",
        100 * *rate, night.abort_audit.audited, night.abort_audit.audited_and_kept);
  }
  out +=
      fmt::format("  runs           {} finished, {} completed\n", night.runs, night.runs_completed);
  out += fmt::format("  night          {}\n", night.stop_reason.value_or("not ended"));
  out += budget_text(journal);
  if (night.noise) out += "  comparable     key " + night.noise->comparability_key + "\n";
  for (const study::JournalRun& run : journal.unfinished_runs()) {
    const study::RunProgress glimpse = study::glimpse(folder / "runs" / run.id);
    out += fmt::format("  unfinished     {} (attempt {}): {}\n", run.id, run.attempts,
                       text_of({glimpse}));
  }
  for (const auto& access : locked_accesses(journal)) {
    out += fmt::format("  locked split   {}: {}\n", access.time, access.text);
  }
  const auto fit = journal.fact("fit");
  out += fmt::format("  law            {}\n",
                     fit ? "fitted; see windtunnel show " + name + " fit" : "not fitted yet");
  return out;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("study", options->study, "name under logs/, or a folder")->required();
  add_json_flag(app, options->json);
  return [options] {
    const fs::path folder = find_study(options->study);
    const study::Journal journal(folder / "journal.db", /*read_only=*/true);
    const agent::NightSummary night = agent::summarise(journal);
    if (!options->json) {
      print(text(options->study, night, journal, folder));
      return base::kExitDone;
    }
    base::Json object = base::to_json(night);
    object["locked_accesses"] = base::Json::array();
    for (const auto& access : locked_accesses(journal)) {
      object["locked_accesses"].push_back({{"at", access.time}, {"what", access.text}});
    }
    object["unfinished_runs"] = base::Json::array();
    for (const study::JournalRun& run : journal.unfinished_runs()) {
      object["unfinished_runs"].push_back(run.id);
    }
    for (const char* resource :
         {agent::resource::kDeviceSeconds, agent::resource::kRuns, agent::resource::kDollars}) {
      object["spent"][resource] = journal.spent(resource);
    }
    object["spent"]["hours"] = journal.fact(agent::fact::kHours).value_or(0);
    const auto program = journal.fact(agent::fact::kProgram);
    object["budget"] = program ? program->value("budget", base::Json()) : base::Json();
    print(object);
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "status",
     .summary = "where a study stands; also while it runs",
     .entry = {.group = "Looking", .example = "windtunnel status demo", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

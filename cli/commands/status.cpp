#include <fmt/format.h>

#include <memory>

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

std::vector<study::Journal::Event> locked_accesses(const study::Journal& journal) {
  auto events = journal.events();
  std::erase_if(events, [](const auto& event) { return event.kind != study::kLockedAccessEvent; });
  return events;
}

std::string text(const std::string& name, const agent::NightSummary& night,
                 const study::Journal& journal, const fs::path& folder) {
  std::string out = fmt::format(
      "{}\n  experiments    {} kept, {} discarded, {} to repair, {} failed, {} vetoed, {} in "
      "progress\n"
      "  bits per byte  baseline {}, best {} ({})\n",
      name, night.kept, night.discarded, night.repair, night.failed, night.vetoed, night.undecided,
      bits(night.baseline_bits_per_byte), bits(night.best_bits_per_byte),
      night.incumbent == 0 ? std::string("the baseline")
                           : fmt::format("experiment {}", night.incumbent));
  if (night.noise && night.noise->run_sd) {
    out += fmt::format("  noise          {:.4f} bits per byte, sd of one run over seeds\n",
                       *night.noise->run_sd);
  }
  out +=
      fmt::format("  runs           {} finished, {} completed\n", night.runs, night.runs_completed);
  out += fmt::format("  night          {}\n", night.stop_reason.value_or("not ended"));
  for (const study::JournalRun& run : journal.runs()) {
    if (run.state != "intended") continue;
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
    for (const study::JournalRun& run : journal.runs()) {
      if (run.state == "intended") object["unfinished_runs"].push_back(run.id);
    }
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

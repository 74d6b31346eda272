#include <fmt/format.h>

#include <memory>

#include "agent/explanation.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/places.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string study;
  std::string what;
  bool json = false;
};

std::string bits(const std::optional<double>& value, const char* format = "{:+.4f}") {
  return value ? fmt::format(fmt::runtime(format), *value) : std::string("not measured");
}

std::string experiment_text(const study::Experiment& experiment,
                            const std::vector<study::JournalRun>& runs) {
  const study::Proposal& proposal = experiment.proposal;
  const study::Prediction& prediction = proposal.prediction;
  std::string text = fmt::format("experiment {} by {}, on experiment {}\n  {}\n", experiment.number,
                                 proposal.author(), experiment.parent, proposal.hypothesis);
  for (const auto& [path, value] : proposal.patch.items()) {
    text += fmt::format("  {} = {}\n", path, value.dump());
  }
  text += fmt::format("predicted   {:+.4f} bits per byte, 80 % in [{:+.4f}, {:+.4f}]\n",
                      prediction.delta_bits_per_byte, prediction.interval_low,
                      prediction.interval_high);
  text += "diagnostic  " + proposal.diagnostic + "\n";
  if (const auto& decision = experiment.decision) {
    text +=
        fmt::format("measured    {} in [{}, {}], {} pairs\n", bits(decision->delta_bits_per_byte),
                    bits(decision->interval_low), bits(decision->interval_high), decision->pairs);
    text += "observed    " + decision->observed + "\n";
    text += fmt::format("decision    {}: {}\n", decision->verdict, decision->reason);
  } else {
    text += "decision    none yet\n";
  }
  for (const study::JournalRun& run : runs) {
    text += fmt::format("run         {}  {}  {}", run.id,
                        run.record ? run.record->train.outcome : run.state,
                        bits(run.record ? run.record->bits_per_byte() : std::nullopt, "{:.4f}"));
    if (run.record && run.record->evaluation && run.record->evaluation->bits_per_byte_source) {
      text += fmt::format("  ({:.4f} by the source's count of bytes)",
                          *run.record->evaluation->bits_per_byte_source);
    }
    text += "\n";
  }
  return text;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// An experiment's number, a run's name, or a fact's name.
int show(const Options& options) {
  const study::Journal journal(find_study(options.study) / "journal.db", /*read_only=*/true);
  const std::string& what = options.what;
  if (is_number(what)) {
    const int64_t number = parse_number(what, "a number");
    const auto experiment = journal.experiment(number);
    if (!experiment)
      throw base::UsageError("study " + options.study + " has no experiment " + what);
    if (options.json) {
      print(agent::explanation(journal, number));
    } else {
      print(experiment_text(*experiment, journal.runs_of(number)));
    }
    return base::kExitDone;
  }
  if (const auto run = journal.run(what)) {
    print(run->record
              ? base::to_json(*run->record)
              : base::Json{{"id", run->id}, {"state", run->state}, {"attempts", run->attempts}});
    return base::kExitDone;
  }
  if (const auto fact = journal.fact(what)) {
    print(*fact);
    return base::kExitDone;
  }
  throw base::UsageError("study " + options.study + " has no experiment, run or fact '" + what +
                         "'; windtunnel list runs " + options.study + " names the runs");
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("study", options->study, "name under logs/, or a folder")->required();
  app.add_option("what", options->what,
                 "number of an experiment, name of a run, or a fact: noise, fit, ladder.plan ...")
      ->required();
  add_json_flag(app, options->json);
  return [options] { return show(*options); };
}

const base::Registration<Command> registration{
    {.name = "show",
     .summary = "one experiment, run or fact of a study in full",
     .entry = {.group = "Looking", .example = "windtunnel show demo 3", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

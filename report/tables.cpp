#include "report/tables.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/text.h"
#include "report/html.h"
#include "report/interpretation.h"
#include "report/phases.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

/// More lines than this tell a reader nothing that journal.db does not tell better.
constexpr size_t kMaximumEvents = 60;

/// Our own names only: a verdict from elsewhere must not become a class.
std::string row_class(const std::string& verdict) {
  for (const char* known :
       {study::verdict::kKeep, study::verdict::kDiscard, study::verdict::kRepair,
        study::verdict::kFailed, study::verdict::kVetoed}) {
    if (verdict == known) return std::string("verdict-") + known;
  }
  return "";
}

/// "-0.0340 [-0.0600, -0.0080]"
std::string with_interval(std::optional<double> value, std::optional<double> low,
                          std::optional<double> high) {
  const std::string interval = change_interval(low, high);
  return change(value) + (finite(value) && interval != kMissing ? " " + interval : "");
}

}  // namespace

std::string experiments_table(const StudyData& data) {
  HtmlTable table("Experiments in the order in which they were proposed",
                  HtmlTable::Columns{{"No.", true},
                                     {"Verdict"},
                                     {"Change", false, true},
                                     {"On", true},
                                     {"Predicted, 80 % interval", true},
                                     {"Measured, interval", true},
                                     {"Pairs", true},
                                     {"Bits per byte", true},
                                     {"Speed", true},
                                     {"Proposer"}});
  if (!data.baseline.runs.empty()) {
    table.add({"0", "baseline", plural(static_cast<int64_t>(data.baseline.runs.size()), "run"), "",
               "", "", "", bits(data.baseline.mean_bits_per_byte), "", ""});
  }
  for (const auto& view : data.experiments) {
    const study::Experiment& experiment = view.experiment;
    const study::Prediction& prediction = experiment.proposal.prediction;
    const study::Decision decision = experiment.decision.value_or(study::Decision{});
    const std::string number = std::to_string(experiment.number);
    table.add_with_html(
        "<a href=\"#experiment-" + number + "\">" + number + "</a>",
        {view.verdict(), short_patch(view, data), std::to_string(experiment.parent),
         with_interval(prediction.delta_bits_per_byte, prediction.interval_low,
                       prediction.interval_high),
         with_interval(decision.delta_bits_per_byte, decision.interval_low, decision.interval_high),
         decision.pairs > 0 ? std::to_string(decision.pairs) : kMissing,
         bits(view.mean_bits_per_byte), percent(decision.throughput_change, true),
         experiment.proposal.author()},
        row_class(view.verdict()));
  }
  return table.html();
}

std::string calibration_table(const StudyData& data) {
  HtmlTable table("How good the predictions were, per proposer and family of ideas",
                  HtmlTable::Columns{{"Proposer"},
                                     {"Family"},
                                     {"Decided", true},
                                     {"Kept", true},
                                     {"Vetoed", true},
                                     {"Failed", true},
                                     {"Inside 80 % interval", true},
                                     {"Mean error", true},
                                     {"Bias", true},
                                     {"Brier score", true},
                                     {"Error of tokens/s", true}});
  const auto rows = data.calibration;
  for (const study::Calibration& row : rows) {
    // One proposer: "all" would repeat it.
    if (row.decided == 0 || (row.proposer == "all" && rows.size() == 2)) continue;
    table.add({row.proposer, row.family, std::to_string(row.decided), std::to_string(row.kept),
               std::to_string(row.vetoed), std::to_string(row.failed),
               row.measured > 0 ? fmt::format("{} of {}", row.covered, row.measured) : kMissing,
               bits(row.mean_absolute_error_bits_per_byte), change(row.bias_bits_per_byte),
               number(row.brier_score, 2), percent(row.mean_absolute_error_throughput)});
  }
  return table.html();
}

std::string noise_table(const StudyData& data) {
  HtmlTable table(
      "Bits per byte of each seed: what moves when nothing but the seed changes",
      {{"Configuration"}, {"Runs", true}, {"Mean", true}, {"Values by seed", false, true}});
  const auto add = [&](const ExperimentView& view) {
    std::vector<std::string> values;
    for (const auto& run : view.runs) {
      const auto value = run.record ? finite(run.record->bits_per_byte()) : std::nullopt;
      if (value) values.push_back(fmt::format("s{} {}", run.seed, bits(value)));
    }
    if (values.size() < 2) return;
    table.add({experiment_name(view.experiment.number), std::to_string(values.size()),
               bits(view.mean_bits_per_byte), base::join(values, ", ")});
  };
  add(data.baseline);
  for (const auto& view : data.experiments) {
    if (view.kept()) add(view);
  }
  HtmlTable figures(
      "The noise that decisions rest on",
      HtmlTable::Columns{{"Figure"}, {"Bits per byte", true}, {"Degrees of freedom", true}});
  const std::pair<const char*, const char*> named[] = {
      {"One run over seeds (standard deviation)", "run"},
      {"One paired difference at a seed (standard deviation)", "pair"},
      {"The baseline's runs alone (standard deviation)", "baseline"}};
  for (const auto& [title, name] : named) {
    const auto sd = data.fact_number("noise", std::string(name) + "_sd");
    if (!sd) continue;
    figures.add(
        {title, bits(sd), number(data.fact_number("noise", std::string(name) + "_degrees"), 4)});
  }
  return figures.html() + table.html();
}

std::string phases_table(const StudyData& data) {
  std::vector<HtmlTable::Column> columns = {{"Runs for"}, {"Number", true}};
  for (const char* phase : kPhaseNames) columns.push_back({phase, true});
  columns.push_back({"Sum", true});
  HtmlTable table("Time of all runs, by what they were for", columns);
  for (const PhaseTotals& totals : phase_totals(data)) {
    std::vector<std::string> cells = {totals.purpose, std::to_string(totals.runs)};
    for (const auto& seconds : totals.seconds) cells.push_back(duration(seconds));
    cells.push_back(duration(totals.wall_seconds));
    table.add(std::move(cells));
  }
  return table.html();
}

std::string llm_table(const StudyData& data) {
  struct Row {
    int64_t calls = 0;
    int64_t prompt_tokens = 0;
    int64_t completion_tokens = 0;
    int64_t without_tokens = 0;
    double seconds = 0;
  };
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const auto& call : data.llm_calls) {
    Row& row = rows[{call.model, call.outcome}];
    ++row.calls;
    row.prompt_tokens += call.prompt_tokens.value_or(0);
    row.completion_tokens += call.completion_tokens.value_or(0);
    row.without_tokens += call.prompt_tokens && call.completion_tokens ? 0 : 1;
    row.seconds += call.seconds;
  }
  HtmlTable table("Questions to language models", HtmlTable::Columns{{"Model"},
                                                                     {"Outcome"},
                                                                     {"Calls", true},
                                                                     {"Prompt tokens", true},
                                                                     {"Completion tokens", true},
                                                                     {"Time", true}});
  for (const auto& [key, row] : rows) {
    const bool is_counted = row.without_tokens < row.calls;
    table.add({key.first, key.second, std::to_string(row.calls),
               is_counted ? std::to_string(row.prompt_tokens) : kMissing,
               is_counted ? std::to_string(row.completion_tokens) : kMissing,
               duration(row.seconds)});
  }
  return table.html();
}

std::string failures_table(const StudyData& data) {
  HtmlTable table(
      "Runs without a score",
      HtmlTable::Columns{{"Run"}, {"State"}, {"Attempts", true}, {"Message", false, true}});
  for (const auto& run : data.runs) {
    if (run.record && run.record->completed()) continue;
    const std::string state = !run.record ? "not finished"
                              : run.record->train.outcome == study::outcome::kCompleted
                                  ? "trained, not scored"
                                  : run.record->train.outcome;
    table.add({run.id, state, std::to_string(run.attempts),
               run.record ? base::shorten(one_line(run.record->train.message), 300) : ""});
  }
  return table.html();
}

std::string events_table(const StudyData& data) {
  const size_t shown = std::min(kMaximumEvents, data.events.size());
  HtmlTable table(shown < data.events.size()
                      ? fmt::format("The last {} of {} events", shown, data.events.size())
                      : "Events",
                  {{"Time (UTC)"}, {"Kind"}, {"What happened", false, true}});
  for (size_t i = data.events.size() - shown; i < data.events.size(); ++i) {
    const auto& event = data.events[i];
    table.add({event.time, event.kind, base::shorten(one_line(event.text), 400)});
  }
  return table.html();
}

}  // namespace windtunnel::report

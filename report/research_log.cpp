#include "report/research_log.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/interpretation.h"
#include "report/markdown.h"
#include "report/summary.h"
#include "report/wording.h"

namespace windtunnel::report {

std::string research_log_entry(const ExperimentView& view, const StudyData& data) {
  const study::Experiment& experiment = view.experiment;
  const auto text = [](const std::string& value) {
    return value.empty() ? std::string("not given") : escape_markdown(value);
  };
  std::string log =
      fmt::format("## Experiment {}: {}\n\n", experiment.number, escape_markdown(view.verdict()));
  log += fmt::format("Proposed by {} on top of {}", text(experiment.proposal.author()),
                     experiment_name(experiment.parent));
  if (!experiment.proposed_at.empty()) log += ", " + escape_markdown(experiment.proposed_at);
  log += fmt::format(". Kind: {}; family: {}; thread: {}", text(experiment.proposal.kind),
                     text(study::family_of(experiment.proposal)), experiment.thread);
  if (experiment.about != 0) log += fmt::format(", about experiment {}", experiment.about);
  log += ".\n\n";
  if (!experiment.proposal.citations.empty()) {
    log += "From " + text(base::join(experiment.proposal.citations, ", ")) + ".\n\n";
  }
  for (const std::string& line : patch_lines(view, data)) log += "- " + code_markdown(line) + "\n";
  log += "\n";
  const auto line = [&](const char* title, const std::string& escaped) {
    log += fmt::format("**{}** {}\n\n", title, escaped);
  };
  line("Hypothesis.", text(experiment.proposal.hypothesis));
  line("Prediction.", escape_markdown(prediction_text(experiment.proposal.prediction)));
  line("Diagnostic.", text(experiment.proposal.diagnostic));
  line("Observed.", escape_markdown(observed_text(view)));
  line("Interpretation.", escape_markdown(interpretation_text(view)));
  line("Agreement.", escape_markdown(agreement_text(view)));
  line("Decision.", escape_markdown(decision_text(view)));
  if (view.decided() && !experiment.decision->parts.empty()) {
    line("Parts.", escape_markdown(parts_text(*experiment.decision)));
  }
  line("Next.", escape_markdown(next_text(view, data)));
  if (!experiment.proposal.revisit_if.empty()) {
    line("Revisit if.", text(experiment.proposal.revisit_if));
  }
  if (experiment.reflection) {
    line("The proposer's word.", escape_markdown(reflection_text(*experiment.reflection)));
  }
  if (!experiment.doubt.empty()) line("No longer believed.", text(experiment.doubt));
  return log;
}

std::string research_log(const StudyData& data) {
  std::string log = "# Research log: " + escape_markdown(data.name) + "\n\n";
  for (const std::string& sentence : summary_sentences(data)) {
    log += escape_markdown(sentence) + "\n\n";
  }
  if (data.experiments.empty()) log += "No experiment has been proposed yet.\n";
  for (const auto& view : data.experiments) log += research_log_entry(view, data);
  return log;
}

}  // namespace windtunnel::report

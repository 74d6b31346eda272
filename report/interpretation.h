#pragma once
// What an experiment's numbers mean, in sentences; all of it follows from the journal.

#include <string>
#include <vector>

#include "report/study_data.h"

namespace windtunnel::report {

/// One "path: old -> new" for each path of the patch; old values are the parent's.
std::vector<std::string> patch_lines(const ExperimentView& view, const StudyData& data);
/// The same on one line, each path by its last name: "learning_rate: 0.03 -> 0.06".
std::string short_patch(const ExperimentView& view, const StudyData& data);

/// "baseline" or "experiment 3".
std::string experiment_name(int64_t number);

std::string prediction_text(const study::Prediction& prediction);
std::string observed_text(const ExperimentView& view);
/// Whether noise can explain the difference.
std::string interpretation_text(const ExperimentView& view);
/// Prediction against measurement.
std::string agreement_text(const ExperimentView& view);
std::string decision_text(const ExperimentView& view);
/// "learning -0.0300 [-0.0400, -0.0200]; speed ...".
std::string parts_text(const study::Decision& decision);
/// The proposer's own word beside what was computed.
std::string reflection_text(const study::Reflection& reflection);
std::string next_text(const ExperimentView& view, const StudyData& data);

}  // namespace windtunnel::report

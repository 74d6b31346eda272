#pragma once
// research_log.md: one entry per experiment, the same eight lines each.

#include <string>

#include "report/study_data.h"

namespace windtunnel::report {

/// The whole document.
std::string research_log(const StudyData& data);

/// One entry, under a second-level heading.
std::string research_log_entry(const ExperimentView& view, const StudyData& data);

}  // namespace windtunnel::report

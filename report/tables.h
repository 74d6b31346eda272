#pragma once
// The tables of the page, as HTML; "" where there is nothing to show.

#include <string>

#include "report/ladder_view.h"
#include "report/study_data.h"

namespace windtunnel::report {

/// Each row links to its entry in the research log.
std::string experiments_table(const StudyData& data);
std::string calibration_table(const StudyData& data);
std::string noise_table(const StudyData& data);
std::string phases_table(const StudyData& data);
std::string llm_table(const StudyData& data);
/// Runs that ended without a score, and what the study noted on its way.
std::string failures_table(const StudyData& data);
std::string events_table(const StudyData& data);

std::string rungs_table(const LadderView& ladder);
/// "" without variants.
std::string pairs_table(const LadderView& ladder);
/// "" without variants whose gain was judged.
std::string gains_table(const LadderView& ladder);
std::string law_table(const LadderView& ladder);
std::string held_out_table(const LadderView& ladder);
/// "" without rungs that were planned later.
std::string planned_table(const LadderView& ladder);
std::string alternatives_table(const LadderView& ladder);

/// What the numbers hold for: data, trainer, device, precision.
std::string provenance_table(const StudyData& data);

}  // namespace windtunnel::report

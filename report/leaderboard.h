#pragma once
// leaderboard.md: the staircase of bests with step and cumulative relative gains.

#include <string>

#include "report/study_data.h"

namespace windtunnel::report {

std::string leaderboard(const StudyData& data);

/// The same as columns for a terminal.
std::string leaderboard_table(const StudyData& data);

}  // namespace windtunnel::report

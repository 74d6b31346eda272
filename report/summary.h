#pragma once
// A study in a few sentences and figures: what stands at the top of the page and of the log.

#include <cstdint>
#include <string>
#include <vector>

#include "report/study_data.h"

namespace windtunnel::report {

struct KeyFigure {
  std::string label;
  std::string value;
  std::string note;
};

struct VerdictCounts {
  int64_t proposed = 0;
  int64_t kept = 0;
  int64_t discarded = 0;
  int64_t repair = 0;
  int64_t failed = 0;
  int64_t vetoed = 0;
  int64_t pending = 0;
};

VerdictCounts verdict_counts(const StudyData& data);

/// Plain sentences, each with its numbers, the most important first; what is not known yet has
/// none. Never empty.
std::vector<std::string> summary_sentences(const StudyData& data);

/// The figures that matter most, in a fixed order; unknown ones have the value kMissing.
std::vector<KeyFigure> key_figures(const StudyData& data);

}  // namespace windtunnel::report

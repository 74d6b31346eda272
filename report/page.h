#pragma once
// report.html: one file that needs nothing else, neither network nor script.

#include <map>
#include <string>

#include "report/figures/gnuplot.h"
#include "report/study_data.h"

namespace windtunnel::report {

/// What became of the figures.
struct DrawnFigures {
  /// By name of the kind.
  std::map<std::string, DrawnFigure> drawings;
  std::map<std::string, std::string> captions;
  /// By name of the kind: why it is not there, a sentence for the reader.
  std::map<std::string, std::string> absent;
  /// About all of them, e.g. that gnuplot is missing; "" if there is nothing to say.
  std::string problem;
};

std::string page(const StudyData& data, const DrawnFigures& figures);

}  // namespace windtunnel::report

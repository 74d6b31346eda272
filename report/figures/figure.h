#pragma once
// The contract of a figure: one file in figures/, registered at its bottom. It says in gnuplot's
// language what to draw; size, fonts, colours of axes and output are the business of gnuplot.cpp.

#include <functional>
#include <optional>
#include <string>

#include "base/registry.h"
#include "report/study_data.h"

namespace windtunnel::report {

/// Each figure is drawn twice, so that its text stays legible on a phone.
struct Layout {
  int width_pixels;
  int height_pixels;
  int font_pixels;
  bool is_narrow;
};

struct Figure {
  /// gnuplot commands: data blocks, settings, one plot command at the end
  /// unless there are panels.
  std::string commands;
  /// Of several panels: the plot commands, after `commands` has made data blocks and settings.
  std::string panels = {};
  /// What the figure shows, in numbers, for people who do not see it.
  std::string alternative_text;
  /// How to read it.
  std::string caption;
  /// Height over the usual one, e.g. for many rows.
  double height_factor = 1;
};

struct FigureKind {
  /// The page shows figures in this order.
  int order = 0;
  std::string title;
  /// nullopt while the study has not got the data for it.
  std::function<std::optional<Figure>(const StudyData&, const Layout&)> draw;
  /// Said in place of the figure when draw gives none.
  std::string absent;
};

using FigureRegistry = base::Registry<FigureKind>;

}  // namespace windtunnel::report

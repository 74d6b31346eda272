#pragma once
// Writing gnuplot's language, and running gnuplot as a child process.

#include <filesystem>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/figures/figure.h"
#include "report/figures/palette.h"

namespace windtunnel::report {

/// A named data block; missing and non-finite numbers become NaN, which gnuplot leaves out.
class DataBlock {
 public:
  explicit DataBlock(std::string name) : name_(std::move(name)) {}
  void add(std::initializer_list<std::optional<double>> row);
  /// A row whose last column is text, quoted.
  void add(std::initializer_list<std::optional<double>> row, std::string_view label);
  /// Ends a line: the next row starts a new one.
  void gap() { rows_ += "\n"; }
  bool empty() const { return rows_.empty(); }
  /// "$name << EOD ... EOD\n"
  std::string text() const;

 private:
  std::string name_;
  std::string rows_;
};

/// What an axis must show; missing and non-finite numbers are passed over.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void hold(std::optional<double> value);
  /// For a logarithmic axis, which has no place for others.
  void hold_positive(std::optional<double> value) {
    if (value && *value > 0) hold(value);
  }
  bool empty() const { return low > high; }
  /// By a margin, for marks at its ends.
  void widen(double share, double least = 0);
};

/// `text` as a quoted string that gnuplot takes literally; use with `noenhanced`.
std::string gnuplot_text(std::string_view text);

/// "lc rgb '#0072b2'"
std::string line_colour(const Colour& colour);

/// A number with all its digits.
std::string exact(double value);

/// The round number (1, 2 or 5 times a power of ten) nearest above span / parts: the pause between
/// tics that leaves at most about `parts` of them.
double tic_step(double span, int parts);

/// Marks of a data block's first two columns.
std::string points(std::string_view block, int type, double size, const Colour& colour,
                   std::string_view title);

/// The parts of a plot command, joined.
std::string plot(const std::vector<std::string>& parts);

struct DrawnFigure {
  /// <svg> elements to put into a page, coloured by the page's CSS variables.
  std::string wide_svg;
  std::string narrow_svg;
};

/// Draws a figure for both layouts; leaves <name>.svg, <name>.png and the script <name>.gp in
/// `folder`. The PNG is left out where gnuplot cannot write one.
/// Errors: Error if gnuplot cannot be started or fails, with what it said.
DrawnFigure draw_figure(const std::string& name, const FigureKind& kind, const Figure& wide,
                        const Figure& narrow, const std::filesystem::path& folder);

/// Leaves <name>.svg, <name>.png, <name>.pdf and the script <name>.gp in `folder`, in the wide
/// layout; the PNG and the PDF where gnuplot can write them. Errors: as draw_figure.
void print_figure(const std::string& name, const std::string& title, const Figure& figure,
                  const std::filesystem::path& folder);

Layout wide_layout();
Layout narrow_layout();

/// What a person does when there is no gnuplot.
std::string gnuplot_missing_sentence();
/// Whether gnuplot answers.
bool gnuplot_works();

}  // namespace windtunnel::report

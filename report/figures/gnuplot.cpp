#include "report/figures/gnuplot.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/secrets.h"
#include "base/text.h"
#include "report/figures/svg.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kDeadline{60};

std::string settings() {
  const std::string ink = fmt::format("tc rgb '{}'", colour::kInk.light);
  return fmt::format(
      "set encoding utf8\n"
      "set border 3 {muted} lw 1\n"
      "set tics nomirror out scale 0.5 {ink}\n"
      "set grid {grid} lw 1 lt 1\n"
      "set xlabel {ink}\nset ylabel {ink}\n"
      "set key outside above horizontal left Left reverse samplen 1.5 width -2 {ink}\n"
      "set style fill solid 1 noborder\n"
      "set bars 0.4\n",
      fmt::arg("muted", line_colour(colour::kMuted)), fmt::arg("ink", ink),
      fmt::arg("grid", line_colour(colour::kGrid)));
}

/// Where gnuplot has no PNG terminal, the SVG alone is written.
std::string png_commands(const std::string& name, const Layout& layout, int height,
                         const std::string& draw) {
  return fmt::format(
      "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {{\n"
      "  set terminal pngcairo size {},{} enhanced font 'sans-serif,{}' fontscale 1.5 lw 2 "
      "background rgb '{}'\n"
      "  set output '{}.png'\n  {}  unset output\n}}\n",
      layout.width_pixels * 2, height * 2, layout.font_pixels, colour::kPaper.light, name, draw);
}

std::string pdf_commands(const std::string& name, const Layout& layout, int height,
                         const std::string& draw) {
  constexpr double kPixelsPerInch = 100;
  return fmt::format(
      "if (strstrt(GPVAL_TERMINALS, 'pdfcairo') > 0) {{\n"
      "  set terminal pdfcairo size {:.2f}in,{:.2f}in enhanced font 'sans-serif,11'\n"
      "  set output '{}.pdf'\n  {}  unset output\n}}\n",
      layout.width_pixels / kPixelsPerInch, height / kPixelsPerInch, name, draw);
}

/// What is written beside the SVG.
enum class Prints { kNone, kPng, kPngAndPdf };

std::string run_script(const std::string& name, const Layout& layout, const Figure& figure,
                       Prints prints, const fs::path& folder) {
  const int height = static_cast<int>(std::lround(layout.height_pixels * figure.height_factor));
  std::string script = fmt::format(
      "set terminal svg size {},{} dynamic enhanced font 'sans-serif,{}' name '{}' "
      "background '{}'\n"
      "set output '{}.svg'\n{}{}{}unset output\n",
      layout.width_pixels, height, layout.font_pixels, name, colour::kPaper.light, name, settings(),
      figure.commands, figure.panels);
  // What `replot` repeats is the last panel only.
  const std::string again = figure.panels.empty() ? "replot\n" : figure.panels;
  if (prints != Prints::kNone) script += png_commands(name, layout, height, again);
  if (prints == Prints::kPngAndPdf) script += pdf_commands(name, layout, height, again);
  base::write_file_atomic(folder / (name + ".gp"), base::redact(script));
  const fs::path log = folder / (name + ".log");
  const base::ExitStatus status = base::run_child({.command = {"gnuplot", name + ".gp"},
                                                   .output_file = log,
                                                   .working_folder = folder,
                                                   .environment = {{"LC_ALL", "C.UTF-8"}}},
                                                  kDeadline);
  const std::string said = fs::exists(log) ? one_line(base::read_file(log)) : "";
  fs::remove(log);
  const fs::path svg = folder / (name + ".svg");
  if (!status.ok() || !fs::exists(svg)) {
    throw base::Error("figure '" + name + "': gnuplot ended with " + status.text() + ": " +
                      base::shorten(said, 300));
  }
  return base::read_file(svg);
}

}  // namespace

void DataBlock::add(std::initializer_list<std::optional<double>> row) {
  std::vector<std::string> cells;
  for (const auto& value : row) cells.push_back(finite(value) ? exact(*value) : "NaN");
  rows_ += base::join(cells, " ") + "\n";
}

void DataBlock::add(std::initializer_list<std::optional<double>> row, std::string_view label) {
  add(row);
  rows_.back() = ' ';
  // In a data block a quote cannot be escaped.
  std::string text = one_line(label);
  for (char& byte : text) {
    if (byte == '"' || byte == '\\') byte = '\'';
  }
  rows_ += "\"" + text + "\"\n";
}

std::string DataBlock::text() const { return "$" + name_ + " << EOD\n" + rows_ + "EOD\n"; }

std::string gnuplot_text(std::string_view text) {
  std::string result = "'";
  for (const char byte : one_line(text)) result += byte == '\'' ? "''" : std::string(1, byte);
  return result + "'";
}

std::string line_colour(const Colour& colour) {
  return std::string("lc rgb '") + colour.light + "'";
}

std::string exact(double value) { return fmt::format("{:.12g}", value); }

double tic_step(double span, int parts) {
  const double least = span / parts;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

void Extent::hold(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return;
  low = std::min(low, *value);
  high = std::max(high, *value);
}

void Extent::widen(double share, double least) {
  const double margin = share * (high - low) + least;
  low -= margin;
  high += margin;
}

std::string points(std::string_view block, int type, double size, const Colour& colour,
                   std::string_view title) {
  return fmt::format("${} using 1:2 with points pt {} ps {} lw 1.3 {} title '{}'", block, type,
                     size, line_colour(colour), title);
}

std::string plot(const std::vector<std::string>& parts) {
  return "plot " + base::join(parts, ", \\\n     ") + "\n";
}

DrawnFigure draw_figure(const std::string& name, const FigureKind& kind, const Figure& wide,
                        const Figure& narrow, const fs::path& folder) {
  const SvgText text{.title = kind.title, .description = wide.alternative_text};
  DrawnFigure drawn;
  const std::string narrow_name = name + "_narrow";
  const std::string narrow_svg =
      run_script(narrow_name, narrow_layout(), narrow, Prints::kNone, folder);
  drawn.narrow_svg = inline_svg(narrow_svg, narrow_name, text);
  fs::remove(folder / (narrow_name + ".svg"));
  fs::remove(folder / (narrow_name + ".gp"));
  const std::string wide_svg = run_script(name, wide_layout(), wide, Prints::kPng, folder);
  drawn.wide_svg = inline_svg(wide_svg, name, text);
  base::write_file_atomic(folder / (name + ".svg"), with_svg_text(wide_svg, text));
  return drawn;
}

void print_figure(const std::string& name, const std::string& title, const Figure& figure,
                  const fs::path& folder) {
  const std::string svg = run_script(name, wide_layout(), figure, Prints::kPngAndPdf, folder);
  base::write_file_atomic(
      folder / (name + ".svg"),
      with_svg_text(svg, {.title = title, .description = figure.alternative_text}));
}

Layout wide_layout() {
  return {.width_pixels = 800, .height_pixels = 440, .font_pixels = 14, .is_narrow = false};
}

Layout narrow_layout() {
  return {.width_pixels = 400, .height_pixels = 380, .font_pixels = 13, .is_narrow = true};
}

bool gnuplot_works() {
  try {
    return base::run_child({.command = {"gnuplot", "--version"}}, kDeadline).ok();
  } catch (const base::Error&) {
    return false;  // no such program; the page says so
  }
}

std::string gnuplot_missing_sentence() {
  return "The figures are missing because gnuplot was not found: install it (Debian: apt install "
         "gnuplot-nox) and write this report again with windtunnel report.";
}

}  // namespace windtunnel::report

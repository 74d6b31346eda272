// Loss over compute on logarithmic axes: the rungs the law was fitted to, the law with its band,
// and the held-out size as predicted and as measured.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/figures/gnuplot.h"
#include "report/ladder_view.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

struct Drawing {
  std::string blocks;
  std::vector<std::string> parts;
  Extent flops;
  Extent losses;
};

void draw_law(const LawView& law, Drawing& drawing) {
  DataBlock curve("curve"), band("band");
  for (const LawPoint& point : law.curve) {
    curve.add({point.flops, point.bits_per_byte});
    drawing.losses.hold_positive(point.bits_per_byte);
    if (!finite(point.low) || !finite(point.high)) continue;
    band.add({point.flops, point.low, point.high});
    drawing.losses.hold_positive(point.low);
    drawing.losses.hold_positive(point.high);
  }
  if (!band.empty()) {
    drawing.blocks += band.text();
    const std::string percent_text =
        law.confidence ? fmt::format("{:.0f} % ", *law.confidence * 100) : "";
    drawing.parts.push_back(fmt::format(
        "$band using 1:2:3 with filledcurves fs transparent solid 0.18 {} title '{}band'",
        line_colour(colour::kBlue), percent_text));
  }
  if (!curve.empty()) {
    drawing.blocks += curve.text();
    drawing.parts.push_back(fmt::format("$curve using 1:2 with lines lw 2 {} title 'fitted law'",
                                        line_colour(colour::kBlue)));
  }
}

void draw_rungs(const LadderView& ladder, Drawing& drawing) {
  DataBlock fitted("fitted"), measured("measured"), labels("labels");
  for (const RungView& rung : ladder.rungs) {
    // The law is through the base's own curve; variants stand in a table.
    if (!rung.flops || !rung.base_rung.empty()) continue;
    for (const double value : rung.bits_per_byte_by_run) {
      (rung.is_held_out ? measured : fitted).add({rung.flops, value});
      drawing.losses.hold_positive(value);
      drawing.flops.hold_positive(rung.flops);
    }
    if (rung.bits_per_byte) labels.add({rung.flops, rung.bits_per_byte}, rung.name);
  }
  const auto add = [&](const DataBlock& block, const char* name, int point_type,
                       const Colour& colour, const char* title) {
    if (block.empty()) return;
    drawing.blocks += block.text();
    drawing.parts.push_back(
        fmt::format("${} using 1:2 with points pt {} ps 0.9 lw 1.5 {} title '{}'", name, point_type,
                    line_colour(colour), title));
  };
  add(fitted, "fitted", 7, colour::kInk, "measured, fitted");
  add(measured, "measured", 5, colour::kOrange, "measured, held out");
  if (labels.empty()) return;
  drawing.blocks += labels.text();
  drawing.parts.push_back(fmt::format(
      "$labels using 1:2:3 with labels left offset 0.8,0.7 tc rgb '{}' noenhanced notitle",
      colour::kMuted.light));
}

void draw_held_out(const LadderView& ladder, Drawing& drawing) {
  DataBlock predicted("predicted");
  for (const HeldOutView& held_out : ladder.held_out) {
    if (!held_out.flops || !held_out.predicted) continue;
    predicted.add({held_out.flops, held_out.predicted, held_out.low.value_or(*held_out.predicted),
                   held_out.high.value_or(*held_out.predicted)});
    drawing.flops.hold_positive(held_out.flops);
    for (const auto& value : {held_out.predicted, held_out.low, held_out.high}) {
      drawing.losses.hold_positive(value);
    }
  }
  if (predicted.empty()) return;
  drawing.blocks += predicted.text();
  drawing.parts.push_back(
      fmt::format("$predicted using 1:2:3:4 with yerrorbars pt 0 lw 2 {} notitle",
                  line_colour(colour::kGreen)));
  drawing.parts.push_back(fmt::format(
      "$predicted using 1:2 with points pt 12 ps 1.8 lw 2 {} title 'forecast, held out'",
      line_colour(colour::kGreen)));
}

std::string describe(const LadderView& ladder) {
  std::string text;
  for (const RungView& rung : ladder.rungs) {
    if (!rung.bits_per_byte) continue;
    text += fmt::format("{}: {} FLOPs, {} bits per byte{}. ", one_line(rung.name),
                        number(rung.flops, 3), bits(rung.bits_per_byte),
                        rung.is_held_out ? ", held out" : "");
  }
  for (const HeldOutView& held_out : ladder.held_out) {
    text += fmt::format("{} was predicted at {} {} and measured at {}. ", one_line(held_out.name),
                        bits(held_out.predicted), bits_interval(held_out.low, held_out.high),
                        bits(held_out.measured));
  }
  return text;
}

/// About five round numbers; gnuplot labels only powers of ten on a logarithmic axis.
std::string loss_tics(const Extent& losses) {
  std::string tics;
  const double step = tic_step(losses.high - losses.low, 6);
  for (double tic = std::max(1.0, std::floor(losses.low / step)) * step; tic < losses.high + step;
       tic += step) {
    tics += fmt::format("{}{:.3g}", tics.empty() ? "" : ", ", tic);
  }
  return tics;
}

std::optional<Figure> draw(const StudyData& data, const Layout&) {
  const LadderView ladder = ladder_view(data);
  Drawing drawing;
  if (ladder.law) draw_law(*ladder.law, drawing);
  // Measurements last: one that hits its forecast lies on top of it.
  draw_held_out(ladder, drawing);
  draw_rungs(ladder, drawing);
  if (drawing.parts.empty() || drawing.flops.high <= 0 || drawing.losses.high <= 0) {
    return std::nullopt;
  }
  const std::string convention =
      ladder.flops_convention.empty() ? "" : ", " + one_line(ladder.flops_convention);
  Figure figure;
  figure.commands = drawing.blocks + "set xlabel " +
                    gnuplot_text("Training compute (FLOPs" + convention + ")") +
                    " noenhanced\n"
                    "set ylabel 'Validation bits per byte'\n"
                    "set logscale xy\nset format x '10^{%L}'\n" +
                    fmt::format("set ytics ({})\nset xrange [{}:{}]\nset yrange [{}:{}]\n",
                                loss_tics(drawing.losses), exact(drawing.flops.low / 1.5),
                                exact(drawing.flops.high * 2), exact(drawing.losses.low * 0.98),
                                exact(drawing.losses.high * 1.04)) +
                    plot(drawing.parts);
  figure.alternative_text = describe(ladder);
  figure.caption =
      "Both axes are logarithmic. The law was fitted to the round points alone; the held-out size "
      "tests it.";
  return figure;
}

const base::Registration<FigureKind> registration{
    {.name = "scaling",
     .summary = "loss over compute with the fitted law",
     .entry = {.order = 5,
               .title = "Scaling law",
               .draw = draw,
               .absent = "The scaling plot appears once a rung of the ladder has finished."}}};

}  // namespace
}  // namespace windtunnel::report

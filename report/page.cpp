#include "report/page.h"

#include "base/clock.h"
#include "report/figures/palette.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/page_style.h"
#include "report/research_log.h"
#include "report/summary.h"
#include "report/tables.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

std::string colours(bool is_dark) {
  std::string css;
  for (const Colour& colour : kPalette) {
    css += std::string("--") + colour.name + ":" + (is_dark ? colour.dark : colour.light) + ";";
  }
  return css;
}

/// Paper is white, so print stays light whatever the reader chose for the screen.
std::string style() {
  return "<style>\n:root{" + colours(false) +
         "}\n@media screen and (prefers-color-scheme: dark){:root{" + colours(true) + "}}" +
         kPageStyle + "</style>\n";
}

std::string heading(const std::string& id, const std::string& title) {
  return "<h2 id=\"" + id + "\">" + escape_html(title) + "</h2>\n";
}

std::string subheading(const std::string& title) { return "<h3>" + escape_html(title) + "</h3>\n"; }

std::string figure(const std::string& name, const DrawnFigures& figures) {
  const auto& kind = FigureRegistry::instance().get(name, "figure");
  std::string html = subheading(kind.entry.title);
  const auto drawn = figures.drawings.find(name);
  if (drawn == figures.drawings.end()) {
    const auto reason = figures.absent.find(name);
    return html +
           paragraph(reason == figures.absent.end() ? figures.problem : reason->second, "absent");
  }
  html += "<figure>\n<div class=\"wide\">" + drawn->second.wide_svg +
          "</div>\n<div class=\"narrow\">" + drawn->second.narrow_svg +
          "</div>\n<figcaption class=\"caption\">" + escape_html(figures.captions.at(name)) +
          "</figcaption>\n</figure>\n";
  return html;
}

std::string or_absent(const std::string& table, const std::string& sentence) {
  return table.empty() ? paragraph(sentence, "absent") : table;
}

std::string header(const StudyData& data) {
  std::string html = "<header>\n<h1>" + escape_html(data.name) +
                     "</h1>\n<p class=\"subtitle\">Windtunnel study report</p>\n"
                     "<nav aria-label=\"Sections\">";
  const std::pair<const char*, const char*> sections[] = {{"summary", "Summary"},
                                                          {"night", "Night of research"},
                                                          {"predictions", "Predictions"},
                                                          {"scale", "Scale"},
                                                          {"noise", "Noise"},
                                                          {"time", "Time and cost"},
                                                          {"failures", "Failures"},
                                                          {"provenance", "Data"},
                                                          {"log", "Research log"}};
  for (const auto& [id, title] : sections) {
    html += std::string("<a href=\"#") + id + "\">" + title + "</a> ";
  }
  return html + "</nav>\n</header>\n";
}

std::string summary_section(const StudyData& data, const DrawnFigures& figures) {
  std::string html = heading("summary", "Summary");
  const auto sentences = summary_sentences(data);
  html += paragraph(sentences.front(), "lead");
  html += "<dl class=\"keys\">\n";
  for (const KeyFigure& key : key_figures(data)) {
    html += "<div class=\"key\"><dt>" + escape_html(key.label) + "</dt><dd>" +
            escape_html(key.value) + "</dd><dd class=\"note\">" + escape_html(key.note) +
            "</dd></div>\n";
  }
  html += "</dl>\n<ul class=\"summary\">\n";
  for (size_t i = 1; i < sentences.size(); ++i) {
    html += "<li>" + escape_html(sentences[i]) + "</li>\n";
  }
  html += "</ul>\n";
  if (!figures.problem.empty()) html += paragraph(figures.problem, "warning");
  return html;
}

std::string scale_section(const StudyData& data, const DrawnFigures& figures) {
  const LadderView ladder = ladder_view(data);
  return heading("scale", "Scale") + figure("scaling", figures) +
         or_absent(rungs_table(ladder), "No ladder has been planned in this study yet.") +
         pairs_table(ladder) + (ladder.gains.empty() ? "" : figure("gains", figures)) +
         gains_table(ladder) +
         or_absent(law_table(ladder),
                   "No law has been fitted yet: that takes the smaller rungs of the ladder.") +
         held_out_table(ladder) + planned_table(ladder) + alternatives_table(ladder);
}

std::string log_section(const StudyData& data) {
  std::string html = heading("log", "Research log");
  if (data.experiments.empty()) html += paragraph("No experiment has been proposed yet.", "absent");
  for (const auto& view : data.experiments) {
    html += "<article id=\"experiment-" + std::to_string(view.experiment.number) + "\">\n" +
            render_markdown(research_log_entry(view, data), 1) + "</article>\n";
  }
  return html;
}

}  // namespace

std::string page(const StudyData& data, const DrawnFigures& figures) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // Nothing may be loaded from anywhere, whatever a text in the journal says.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'\">\n<title>" +
      escape_html(data.name) + " - Windtunnel</title>\n" + style() + "</head>\n<body>\n" +
      header(data) + "<main>\n" + summary_section(data, figures);
  html += heading("night", "Night of research") + figure("staircase", figures) +
          or_absent(experiments_table(data), "No experiment has been proposed yet.") +
          figure("loss_curves", figures) + figure("router_health", figures);
  html += heading("predictions", "Predictions") + figure("predictions", figures) +
          or_absent(calibration_table(data), "No prediction has been made yet.");
  html += scale_section(data, figures);
  html += heading("noise", "Noise") +
          or_absent(noise_table(data), "The noise is known once two baseline runs have finished.");
  html += heading("time", "Time and cost") + figure("phases", figures) + phases_table(data) +
          or_absent(llm_table(data), "No language model was asked.");
  html += heading("failures", "Failures and events") +
          or_absent(failures_table(data), "Every run ended with a score.") + events_table(data);
  html += heading("provenance", "Data and environment") +
          or_absent(provenance_table(data), "No run has finished yet.");
  html += log_section(data) + "</main>\n<footer>";
  html += paragraph("Written " + base::utc_now() +
                    " from journal.db and the run folders; windtunnel report writes it again at "
                    "any time. The figures are also in the folder figures/, with the gnuplot "
                    "scripts that drew them.");
  return html + "</footer>\n</body>\n</html>\n";
}

}  // namespace windtunnel::report

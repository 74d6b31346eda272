#include "report/report.h"

#include "base/error.h"
#include "base/files.h"
#include "base/secrets.h"
#include "report/figures/gnuplot.h"
#include "report/leaderboard.h"
#include "report/page.h"
#include "report/research_log.h"
#include "report/results_tsv.h"

namespace windtunnel::report {
namespace {

namespace fs = std::filesystem;

void draw_into(const StudyData& data, const fs::path& folder, DrawnFigures& figures) {
  for (const auto& kind : FigureRegistry::instance().kinds()) {
    const auto wide = kind.entry.draw(data, wide_layout());
    const auto narrow = kind.entry.draw(data, narrow_layout());
    if (!wide || !narrow) {
      figures.absent[kind.name] = kind.entry.absent;
      continue;
    }
    try {
      figures.drawings[kind.name] = draw_figure(kind.name, kind.entry, *wide, *narrow, folder);
      figures.captions[kind.name] = wide->caption;
    } catch (const base::Error& error) {
      // One figure that fails leaves the others and all tables; the page shows why.
      figures.absent[kind.name] = error.what();
    }
  }
}

/// The folder figures/ is replaced as a whole, so that a reader never sees half of it.
DrawnFigures draw_figures(const StudyData& data) {
  DrawnFigures figures;
  if (!gnuplot_works()) {
    figures.problem = gnuplot_missing_sentence();
    return figures;
  }
  const fs::path folder = base::temporary_name(data.folder / "figures");
  fs::remove_all(folder);
  fs::create_directories(folder);
  draw_into(data, folder, figures);
  base::sync_folder(folder);
  base::replace_folder(folder, data.folder / "figures");
  return figures;
}

}  // namespace

void write_report(const fs::path& study) {
  const StudyData data = read_study(study);
  base::write_file_atomic(study / "results.tsv", base::redact(results_tsv(data)));
  base::write_file_atomic(study / "leaderboard.md", base::redact(leaderboard(data)));
  base::write_file_atomic(study / "research_log.md", base::redact(research_log(data)));
  base::write_file_atomic(study / "report.html", base::redact(page(data, draw_figures(data))));
}

}  // namespace windtunnel::report

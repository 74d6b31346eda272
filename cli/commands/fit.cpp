#include <algorithm>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/fit_data.h"
#include "report/fit_figures.h"
#include "scaling/approaches.h"
#include "scaling/quality.h"

namespace windtunnel::cli {
namespace {

using scaling::Observation;

/// Bootstrap draws unless asked for: as many as take about a second.
constexpr int kAutomaticDraws = 1000;
constexpr double kRowsTimesDraws = 2e6;
constexpr int kLeastDraws = 100;

struct Options {
  FitData data;
  std::string law = "loss_c";
  std::string objective = "least-squares";
  double delta = 1e-3;
  std::string on = "log";
  int starts = 16;
  int bootstrap = -1;
  std::string holdout;
  int holdout_top = 0;
  std::string approach;
  double confidence = 0.95;
  std::optional<double> noise;
  std::string weights = "noise";
  std::string figures;
  bool no_gate = false;
  bool json = false;
  bool dry_run = false;
};

scaling::FitOptions fit_options(const Options& options, size_t rows) {
  std::string objective = options.objective;
  std::replace(objective.begin(), objective.end(), '-', '_');
  int draws = options.bootstrap;
  if (draws < 0) {
    draws = static_cast<int>(
        std::min<double>(kAutomaticDraws, kRowsTimesDraws / static_cast<double>(rows + 1)));
    if (draws < kLeastDraws) draws = 0;
  }
  return {.law = options.law,
          .objective = objective,
          .huber_delta = options.delta,
          .on = options.on,
          .starts = options.starts,
          .confidence = options.confidence,
          .bootstrap = draws,
          .noise_floor = options.noise,
          .weights = options.weights,
          .gate = !options.no_gate};
}

/// The rows to hold out, taken out of `rows`: those that pass --holdout, or those with the most
/// compute.
std::vector<Observation> take_held_out(std::vector<Observation>& rows, const Options& options) {
  const scaling::RowFilter filter = scaling::RowFilter::parse(options.holdout);
  if (!filter.empty() && options.holdout_top > 0) {
    throw base::UsageError("--holdout and --holdout-top exclude each other; give one");
  }
  if (filter.empty() && options.holdout_top == 0) return {};
  const auto compute = [](const Observation& row) {
    return scaling::compute_of(scaling::point_of(row));
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Observation& a, const Observation& b) {
    return compute(a) < compute(b);
  });
  const auto fitted =
      filter.empty()
          ? rows.end() - std::min<std::ptrdiff_t>(options.holdout_top,
                                                  static_cast<std::ptrdiff_t>(rows.size()))
          : std::stable_partition(rows.begin(), rows.end(), [&](const auto& row) {
              return !filter.passes(
                  [&](const std::string& name) { return scaling::text_of(row, name); });
            });
  std::vector<Observation> held_out(fitted, rows.end());
  rows.erase(fitted, rows.end());
  if (!filter.empty() && held_out.empty()) {
    throw base::UsageError("--holdout '" + options.holdout +
                           "' matches no row; it reads the keys " +
                           "of the column map, such as C, N, D and name");
  }
  return held_out;
}

/// Errors: UsageError that says where the rows went.
void require_rows(const scaling::Observations& observations,
                  const std::vector<Observation>& held_out, const std::string& data) {
  if (!observations.rows.empty()) return;
  std::map<std::string, int> reasons;
  for (const scaling::LeftOut& row : observations.left_out) ++reasons[row.reason];
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) {
    parts.push_back(std::to_string(count) + " left out: " + base::shorten(reason, 80));
    if (parts.size() == 4) break;
  }
  if (!held_out.empty()) parts.push_back(std::to_string(held_out.size()) + " held out");
  throw base::UsageError("no row of " + data + " is left to fit (" + base::join(parts, "; ") +
                         "); loosen the condition, or see windtunnel observations");
}

/// What a fit is at, once it takes longer than two seconds.
class StageProgress {
 public:
  explicit StageProgress(const std::string& what) : what_(what) {}

  void tell(const std::string& stage, double share) {
    const double now = base::monotonic_seconds();
    if (stage != stage_) stage_started_ = now;
    stage_ = stage;
    if (now - started_ < kPatience) return;
    if (!shown_) progress_.phase(what_);
    shown_ = true;
    const double spent = now - stage_started_;
    if (share > 0.02 && spent > 1) {
      progress_.update_with_left(share, spent * (1 - share) / share, stage);
    } else {
      progress_.update(share, stage);
    }
  }

  /// Before the result is printed.
  void clear() { progress_.clear(); }

 private:
  static constexpr double kPatience = 2;
  base::Progress progress_;
  std::string what_;
  bool shown_ = false;
  double started_ = base::monotonic_seconds();
  double stage_started_ = started_;
  std::string stage_;
};

int fit(const Options& options) {
  if (!options.approach.empty()) {
    const std::vector<std::string> known = {"1", "2", "3", "all"};
    if (std::find(known.begin(), known.end(), options.approach) == known.end()) {
      throw base::UsageError("--approach " + options.approach + " must be 1, 2, 3 or all");
    }
  }
  scaling::Observations observations = read_fit_data(options.data, options.law);
  if (options.dry_run) {
    const scaling::FitOptions chosen = fit_options(options, observations.rows.size());
    base::require_valid(base::to_json(chosen), base::schema_of<scaling::FitOptions>(),
                        "fit options");
    std::vector<Observation> rows = observations.rows;
    take_held_out(rows, options);
    observations.flags = scaling::flags_of(observations.rows);
    if (options.json) {
      print(base::to_json(observations));
    } else {
      print(scaling::observations_table(observations));
    }
    return base::kExitDone;
  }
  const std::vector<Observation> held_out = take_held_out(observations.rows, options);
  require_rows(observations, held_out, options.data.data);
  std::vector<scaling::Wanted> wanted;
  std::map<std::string, std::string> forecast_of;
  for (const Observation& row : held_out) {
    wanted.push_back({row.name, scaling::point_of(row), row.loss_standard_error});
    forecast_of[row.name] = row.name;
  }
  const scaling::FitOptions chosen = fit_options(options, observations.rows.size());
  StageProgress progress("fit of " + std::to_string(observations.rows.size()) + " rows");
  scaling::LawFit result =
      scaling::fit_law(observations.rows, chosen, wanted,
                       [&](const char* stage, double share) { progress.tell(stage, share); });
  result.left_out = observations.left_out;
  result.flags = scaling::flags_of(observations.rows);
  if (chosen.bootstrap == 0 && options.bootstrap < 0) {
    result.warnings.push_back("no bootstrap: " + std::to_string(observations.rows.size()) +
                              " rows would take long; ask with --bootstrap K");
  }
  scaling::score_forecasts(result, held_out, forecast_of);
  result.methods = scaling::methods_paragraph(result);
  std::optional<scaling::Approaches> approaches;
  if (!options.approach.empty()) {
    progress.tell("approach " + options.approach, 0);
    approaches = scaling::run_approaches(observations.rows, chosen, options.approach, &result);
  }
  if (!options.figures.empty()) {
    progress.tell("figures", 0);
    report::write_fit_figures(result, approaches ? &*approaches : nullptr, observations.rows,
                              options.figures);
  }
  progress.clear();
  if (options.json) {
    base::Json json = base::to_json(result);
    json["objective"] = result.diagnostics.objective;
    json["holdout"] = json["held_out"];
    json.erase("held_out");
    if (approaches) json["approaches"] = base::to_json(*approaches);
    print(json);
  } else {
    print(scaling::fit_page(result) +
          (approaches ? "\n" + scaling::approaches_text(*approaches) : ""));
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_fit_data(app, options->data);
  app.add_option("--law", options->law, "windtunnel list laws")->capture_default_str();
  app.add_option("--objective", options->objective, "huber or least-squares")
      ->capture_default_str();
  app.add_option("--delta", options->delta, "Huber's width, in the unit of the residual")
      ->capture_default_str();
  app.add_option("--on", options->on, "residuals of ln L (log) or of L (linear)")
      ->capture_default_str();
  app.add_option("--starts", options->starts, "starts of the search")->capture_default_str();
  app.add_option("--bootstrap", options->bootstrap,
                 "bootstrap draws, clustered by run; -1: as many as take about a second")
      ->check(CLI::Range(-1, 1000000))
      ->capture_default_str();
  app.add_option("--holdout", options->holdout,
                 "leave these rows out and forecast them, e.g. 'C>=1e21'");
  app.add_option("--holdout-top", options->holdout_top,
                 "leave the K rows with the most compute out and forecast them")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--approach", options->approach,
                 "also find the best size for a budget by approach 1, 2, 3 or all");
  app.add_option("--confidence", options->confidence, "of all intervals")->capture_default_str();
  app.add_option("--noise", options->noise,
                 "known standard deviation of one run, in the unit of the residual (relative, with "
                 "--on log); the fit is never believed to be quieter")
      ->check(positive_number());
  app.add_option("--weights", options->weights,
                 "of the rows: noise (their standard errors, where --map se=COLUMN gives all of "
                 "them, and what runs differ by) or none (all alike)")
      ->check(CLI::IsMember({"noise", "none"}))
      ->capture_default_str();
  app.add_option("--figures", options->figures, "folder to write figures to (SVG, PNG, PDF)");
  app.add_flag("--no-gate", options->no_gate, "do not test the law on its own larger rows");
  add_json_flag(app, options->json);
  add_dry_run_flag(app, options->dry_run);
  return [options] { return fit(*options); };
}

const base::Registration<Command> registration{
    {.name = "fit",
     .summary = "a scaling law from a study's ladder or any table of runs, with a held-out check",
     .entry = {.group = "Jobs",
               .example = "windtunnel fit runs.csv --map N=params,D=tokens,L=loss --holdout-top 1",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

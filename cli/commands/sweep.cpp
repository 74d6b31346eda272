#include "scaling/sweep.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/places.h"
#include "report/comparison_figures.h"
#include "scaling/observations.h"
#include "scaling/row_filter.h"
#include "scaling/table_file.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

struct Options {
  std::string data;
  std::string over;
  std::string loss;
  std::string where;
  std::string seed;
  std::optional<double> noise;
  double confidence = 0.95;
  std::string figures;
  bool json = false;
};

std::vector<scaling::SweepRow> read_table(const Options& options, std::string& left_out) {
  if (options.loss.empty()) {
    throw base::UsageError(options.data + ": --loss says which column is the loss");
  }
  const scaling::TableFile table = scaling::read_table_file(options.data);
  const size_t over = table.require_column(options.over, "--over");
  const size_t loss = table.require_column(options.loss, "--loss");
  const auto where = scaling::RowFilter::parse(options.where);
  std::vector<scaling::SweepRow> rows;
  std::vector<scaling::LeftOut> absent;
  for (size_t r = 0; r < table.row_count(); ++r) {
    const bool passes = where.passes([&](const std::string& name) {
      return std::string(table.cell(r, table.require_column(name, "--where " + name)));
    });
    if (!passes) continue;
    const auto value = table.number(r, over), lost = table.number(r, loss);
    if (!value || !lost) {
      absent.push_back({table.row_name(r), "has no " + (value ? options.loss : options.over)});
      continue;
    }
    rows.push_back({.name = table.row_name(r), .value = *value, .loss = *lost});
    if (options.seed.empty()) continue;
    const auto seed = table.number(r, table.require_column(options.seed, "--seed"));
    if (seed) rows.back().seed = static_cast<int64_t>(*seed);
  }
  left_out = scaling::left_out_text(absent);
  return rows;
}

/// Completed runs of a study whose configurations differ in the swept path and the seed alone: of
/// several such groups, the one with the most values.
std::vector<scaling::SweepRow> read_study(const Options& options, std::string& left_out) {
  const std::filesystem::path folder = find_study(options.data);
  if (!options.loss.empty() || !options.where.empty() || !options.seed.empty()) {
    throw base::UsageError(
        "--loss, --seed and --where are for tables; a study's loss is bits per byte");
  }
  const study::Journal journal(folder / "journal.db", /*read_only=*/true);
  std::map<std::string, std::vector<scaling::SweepRow>> groups;
  size_t runs = 0;
  for (const study::JournalRun& run : journal.runs()) {
    if (!run.record || !run.record->completed()) continue;
    ++runs;
    base::Json config = base::read_json(folder / "runs" / run.id / "config.json");
    const base::Json* value = base::find_path(config, options.over);
    if (value == nullptr || !value->is_number()) continue;
    const auto number = value->get<double>();
    base::set_path(config, options.over, nullptr);
    base::set_path(config, "train.seed", nullptr);
    groups[config.dump()].push_back(
        {.name = run.id, .value = number, .loss = *run.record->bits_per_byte(), .seed = run.seed});
  }
  if (groups.empty()) {
    throw base::UsageError("study '" + options.data + "' has " + std::to_string(runs) +
                           " completed runs and none with a number at " + options.over +
                           "; windtunnel config --explain " + options.over + " tells its name");
  }
  const auto values_of = [](const auto& group) {
    std::set<double> values;
    for (const scaling::SweepRow& row : group.second) values.insert(row.value);
    return values.size();
  };
  const auto most =
      std::max_element(groups.begin(), groups.end(),
                       [&](const auto& a, const auto& b) { return values_of(a) < values_of(b); });
  const size_t others = runs - most->second.size();
  if (others > 0) {
    left_out = std::to_string(others) + " other runs of the study differ in more than " +
               options.over + " and are left out\n";
  }
  return most->second;
}

int sweep(const Options& options) {
  std::string left_out;
  const bool is_table = std::filesystem::is_regular_file(options.data);
  const scaling::Sweep result = scaling::fit_sweep(
      options.over, is_table ? read_table(options, left_out) : read_study(options, left_out),
      options.confidence, options.noise);
  if (!options.figures.empty()) report::write_sweep_figure(result, options.figures);
  if (options.json) {
    print(base::to_json(result));
  } else {
    print(scaling::sweep_text(result) + left_out);
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("data", options->data, "a study, or a .csv or .jsonl table, one run a row")
      ->required();
  app.add_option("--over", options->over,
                 "what was swept: a column, or a path of a study's configurations such as "
                 "model.layers.E.num_experts")
      ->required();
  app.add_option("--loss", options->loss, "column of the loss, of a table");
  app.add_option("--seed", options->seed,
                 "column of the seed, of a table: runs of one seed are compared with each other");
  app.add_option("--where", options->where, "only these rows, e.g. 'width=768'");
  app.add_option("--noise", options->noise,
                 "known standard deviation of one run's loss, relative, e.g. 0.001")
      ->check(positive_number());
  app.add_option("--confidence", options->confidence, "of all intervals")
      ->check(CLI::Range(0.5, 0.9999))
      ->capture_default_str();
  app.add_option("--figures", options->figures, "folder to write a figure to (SVG, PNG, PDF)");
  add_json_flag(app, options->json);
  return [options] { return sweep(*options); };
}

const base::Registration<Command> registration{
    {.name = "sweep",
     .summary =
         "the best number of experts, sparsity or other quantity, and whether the rows show it",
     .entry = {.group = "Looking",
               .example = "windtunnel sweep sparsity.csv --over num_experts --loss bpb\n"
                          "  windtunnel sweep sparsity_sweep --over model.layers.E.num_experts",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli

#include "cli/fit_data.h"

#include <algorithm>

#include "base/text.h"
#include "cli/places.h"
#include "scaling/ladder.h"
#include "scaling/tuned_optima.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

using scaling::Variable;

/// A law of what was tuned: its rows are optima, found from runs that tried several values.
bool is_of_optima(const std::optional<Variable>& response) {
  return response == Variable::kLearningRate || response == Variable::kBatchTokens;
}

scaling::Observations read_study(const FitData& data, const std::optional<Variable>& response) {
  const study::Journal journal(find_study(data.data) / "journal.db", /*read_only=*/true);
  if (response == Variable::kBatchTokens) {
    throw base::UsageError("a ladder tries learning rates and no batches; fit " + data.data +
                           "'s law of batches from a table with --map B=COLUMN");
  }
  if (response == Variable::kLearningRate) return scaling::ladder_optima(journal, data.flops);
  const std::vector<std::string> names = scaling::RowFilter::parse(data.where).names();
  const bool names_an_arm = std::find(names.begin(), names.end(), "arm") != names.end();
  // Runs under a wall-clock budget follow no law of compute; only a ladder's do.
  scaling::Observations rows =
      data.whole_ladder ? scaling::ladder_observations(journal, data.flops)
                        : scaling::chosen_observations(journal, data.flops, names_an_arm);
  if (rows.rows.empty() && rows.left_out.empty()) {
    throw base::UsageError("study '" + data.data +
                           "' has no finished ladder run to fit; run windtunnel ladder first");
  }
  return rows;
}

}  // namespace

void add_fit_data(CLI::App& app, FitData& data) {
  app.add_option("data", data.data,
                 "study with a ladder, a .csv or .jsonl table, or a folder of TensorBoard's event "
                 "files")
      ->required();
  app.add_option("--map", data.map,
                 "which column is what, e.g. N=params,D=tokens,L=loss; keys: name, run, arm, size, "
                 "N, N_total, N_no_embed, D, D_unique, C, counted, L, unit, se, seed, data, lr, B, "
                 "tuned, finished");
  app.add_option("--where", data.where,
                 "only these rows, e.g. 'C<1e21 and dataset=rpj'; keys of the map or columns");
  app.add_option("--unit", data.unit, "of a table's loss")->capture_default_str();
  app.add_option("--flops", data.flops, "of our own runs: 6ND or exact")->capture_default_str();
  app.add_option("--drop-worst", data.drop_worst, "leave out the K rows of highest loss")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

const scaling::Law& law_asked_for(const std::string& name) {
  const auto& laws = scaling::Laws::instance();
  if (const auto* law = laws.find(name)) return law->entry;
  throw base::UsageError("--law " + name + " must be one of " + base::join(laws.names(), ", "));
}

scaling::Observations read_fit_data(const FitData& data, const std::string& law) {
  const scaling::RowFilter where = scaling::RowFilter::parse(data.where);
  const scaling::Law& law_of_rows = law_asked_for(law);
  const auto response = law_of_rows.response;
  if (data.flops != scaling::convention::kSixND && data.flops != scaling::convention::kExact) {
    throw base::UsageError("--flops " + data.flops + " must be 6ND or exact");
  }
  const bool names_a_table = std::filesystem::path(data.data).has_extension() || !data.map.empty();
  if (names_a_table && !std::filesystem::exists(data.data)) {
    throw base::UsageError("file " + data.data + " does not exist");
  }
  scaling::Observations rows;
  if (!data.map.empty()) {
    rows = scaling::read_observations(data.data,
                                      {.map = scaling::ColumnMap::parse(data.map, &law_of_rows),
                                       .loss_unit = data.unit,
                                       .where = where});
    // Before optima are taken from them: theirs is no loss.
    scaling::drop_worst(rows, data.drop_worst);
    if (is_of_optima(response)) rows = scaling::tuned_optima(rows, *response);
  } else if (std::filesystem::is_regular_file(data.data)) {
    throw base::UsageError(data.data +
                           ": say which column is what, e.g. --map N=params,D=tokens,L=loss");
  } else {
    rows = read_study(data, response);
    scaling::apply_filter(rows, where);
    if (is_of_optima(response) && data.drop_worst > 0) {
      throw base::UsageError("--drop-worst needs losses; the rows of law " + law +
                             " are optima of a study");
    }
    scaling::drop_worst(rows, data.drop_worst);
  }
  return rows;
}

}  // namespace windtunnel::cli

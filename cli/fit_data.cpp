#include "cli/fit_data.h"

#include "cli/places.h"
#include "study/journal.h"

namespace windtunnel::cli {
namespace {

scaling::Observations read_study(const FitData& data) {
  const study::Journal journal(find_study(data.data) / "journal.db", /*read_only=*/true);
  std::vector<study::RunRecord> records;
  // Runs under a wall-clock budget follow no law of compute; only a ladder's do.
  for (const study::JournalRun& run : journal.runs()) {
    if (run.purpose == "ladder" && run.record) records.push_back(*run.record);
  }
  if (records.empty()) {
    throw base::UsageError("study '" + data.data +
                           "' has no finished ladder run to fit; run windtunnel ladder first");
  }
  return scaling::observations_from_records(records, data.flops);
}

}  // namespace

void add_fit_data(CLI::App& app, FitData& data) {
  app.add_option("data", data.data,
                 "study with a ladder, a .csv or .jsonl table, or a folder of TensorBoard's event "
                 "files")
      ->required();
  app.add_option("--map", data.map,
                 "which column is what, e.g. N=params,D=tokens,L=loss; keys: name, run, N, "
                 "N_total, N_no_embed, D, D_unique, C, counted, L, unit, se, seed, data, lr, "
                 "tuned, finished");
  app.add_option("--where", data.where,
                 "only these rows, e.g. 'C<1e21 and dataset=rpj'; keys of the map or columns");
  app.add_option("--unit", data.unit, "of a table's loss")->capture_default_str();
  app.add_option("--flops", data.flops, "of our own runs: 6ND or exact")->capture_default_str();
  app.add_option("--drop-worst", data.drop_worst, "leave out the K rows of highest loss")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

scaling::Observations read_fit_data(const FitData& data, const std::string& law) {
  const scaling::RowFilter where = scaling::RowFilter::parse(data.where);
  scaling::Observations rows;
  if (!data.map.empty()) {
    std::string map = data.map;
    const auto response = scaling::law_named(law).entry.response;
    const bool has_loss = map.rfind("L=", 0) == 0 || map.find(",L=") != std::string::npos;
    if (response && !has_loss) {
      // Such a law's rows have no loss; the column it describes stands in for it.
      const std::string key = scaling::variable_name(*response) + "=";
      const size_t at = map.rfind(key, 0) == 0 ? 0 : map.find("," + key);
      if (at != std::string::npos) {
        const size_t from = map.find('=', at) + 1;
        map += ",L=" + map.substr(from, map.find(',', from) - from);
      }
    }
    rows = scaling::read_observations(
        data.data, {.map = scaling::ColumnMap::parse(map), .loss_unit = data.unit, .where = where});
  } else if (std::filesystem::is_regular_file(data.data)) {
    throw base::UsageError(data.data +
                           ": say which column is what, e.g. --map N=params,D=tokens,L=loss");
  } else {
    rows = read_study(data);
    scaling::apply_filter(rows, where);
  }
  scaling::drop_worst(rows, data.drop_worst);
  return rows;
}

}  // namespace windtunnel::cli

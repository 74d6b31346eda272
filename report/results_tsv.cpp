#include "report/results_tsv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

constexpr double kBytesPerGb = 1024.0 * 1024.0 * 1024.0;

struct Column {
  const char* name;
  std::string value;
};

std::string fixed(std::optional<double> value, int decimals) {
  return finite(value) ? fmt::format("{:.{}f}", *value, decimals) : "";
}

std::string integer(std::optional<int64_t> value) { return value ? std::to_string(*value) : ""; }

std::string plain(std::optional<double> value) {
  return finite(value) ? base::format_number(*value, 9) : "";
}

/// The first finished run, for what all runs of an experiment share.
const study::RunRecord* first_record(const ExperimentView& view) {
  for (const auto& run : view.runs) {
    if (run.record) return &*run.record;
  }
  return nullptr;
}

std::optional<double> largest_memory(const ExperimentView& view) {
  std::optional<double> largest;
  for (const auto& run : view.runs) {
    const auto bytes = run.record ? finite(run.record->train.peak_memory_bytes) : std::nullopt;
    if (bytes) largest = std::max(largest.value_or(0), *bytes);
  }
  return largest;
}

std::optional<double> mean_of(const ExperimentView& view,
                              std::optional<double> study::TrainResult::*figure) {
  double sum = 0;
  int measured = 0;
  for (const auto& run : view.runs) {
    if (!run.record || !run.record->completed()) continue;
    if (const auto value = finite(run.record->train.*figure)) {
      sum += *value;
      ++measured;
    }
  }
  return measured > 0 ? std::optional<double>(sum / measured) : std::nullopt;
}

std::string status(const ExperimentView& view) {
  const std::string verdict = view.verdict();
  if (view.experiment.number == 0) return "keep";
  if (verdict == study::verdict::kKeep || verdict == "pending") return verdict;
  return verdict == study::verdict::kFailed ? "crash" : "discard";
}

/// A code version is often a hash; a dozen digits name it.
std::string commit(const study::RunRecord* record) {
  return record == nullptr ? "" : one_line(record->code_version).substr(0, 12);
}

std::vector<Column> row(const ExperimentView& view) {
  const bool is_baseline = view.experiment.number == 0;
  const study::RunRecord* record = first_record(view);
  const study::Proposal& proposal = view.experiment.proposal;
  const study::Decision decision = view.experiment.decision.value_or(study::Decision{});
  const auto memory = largest_memory(view);
  const auto predicted = [&](double value) { return is_baseline ? "" : plain(value); };
  return {
      {"commit", commit(record)},
      {"val_bpb", fixed(view.mean_bits_per_byte, 6)},
      {"memory_gb", memory ? fixed(*memory / kBytesPerGb, 3) : ""},
      {"status", status(view)},
      {"description", is_baseline ? "baseline" : one_line(proposal.hypothesis)},
      {"experiment", std::to_string(view.experiment.number)},
      {"parent", is_baseline ? "" : std::to_string(view.experiment.parent)},
      {"proposer", one_line(proposal.author())},
      {"verdict", is_baseline ? "baseline" : view.verdict()},
      {"patch", is_baseline ? "" : value_text(proposal.patch)},
      {"delta_bits_per_byte", plain(decision.delta_bits_per_byte)},
      {"interval_low", plain(decision.interval_low)},
      {"interval_high", plain(decision.interval_high)},
      {"pairs", view.decided() && decision.pairs > 0 ? std::to_string(decision.pairs) : ""},
      {"noise_bits_per_byte", plain(decision.noise_bits_per_byte)},
      {"predicted_delta", predicted(proposal.prediction.delta_bits_per_byte)},
      {"predicted_low", predicted(proposal.prediction.interval_low)},
      {"predicted_high", predicted(proposal.prediction.interval_high)},
      {"probability_kept", plain(proposal.prediction.probability_kept)},
      {"prediction_covered",
       decision.prediction_covered ? (*decision.prediction_covered ? "true" : "false") : ""},
      {"throughput_change", plain(decision.throughput_change)},
      {"tokens_per_second", plain(mean_of(view, &study::TrainResult::tokens_per_second))},
      {"flops_exact", plain(mean_of(view, &study::TrainResult::flops_exact))},
      {"parameters_active",
       record && record->parameters_active > 0 ? integer(record->parameters_active) : ""},
      {"parameters_total",
       record && record->parameters_total > 0 ? integer(record->parameters_total) : ""},
      {"outcome", record ? record->train.outcome : ""},
      {"config_fingerprint",
       record ? record->config_fingerprint : view.experiment.config_fingerprint},
      {"data_fingerprint", record ? record->data_fingerprint : ""},
      {"proposed_at", one_line(view.experiment.proposed_at)},
      {"reason", one_line(decision.reason)},
  };
}

}  // namespace

std::string results_tsv(const StudyData& data) {
  std::string text;
  const auto add = [&](const ExperimentView& view) {
    std::vector<std::string> names;
    std::vector<std::string> values;
    for (const Column& column : row(view)) {
      names.push_back(column.name);
      values.push_back(column.value);
    }
    if (text.empty()) text = base::join(names, "\t") + "\n";
    text += base::join(values, "\t") + "\n";
  };
  add(data.baseline);
  for (const auto& view : data.experiments) add(view);
  return text;
}

}  // namespace windtunnel::report

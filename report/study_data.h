#pragma once
// Everything a report is made from, read once: the journal and the curves of the run folders.
// Nothing here is computed beyond means and levels, and nothing that is absent is invented.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/calibration.h"
#include "study/journal.h"

namespace windtunnel::report {

/// An experiment, or the baseline (number 0), with its runs.
struct ExperimentView {
  study::Experiment experiment;
  /// In the order of the journal; finished ones have a record.
  std::vector<study::JournalRun> runs;
  /// Mean over the completed runs.
  std::optional<double> mean_bits_per_byte;
  /// Bits per byte on the baseline's scale: the parent's level plus the mean paired difference.
  /// Seeds that only one of the two ran cancel out, which plain means do not give. The mean where
  /// there is no paired difference.
  std::optional<double> level;

  bool decided() const { return experiment.decision.has_value(); }
  /// The verdict, or "pending".
  std::string verdict() const;
  bool kept() const { return experiment.is_kept(); }
};

struct StudyData {
  std::filesystem::path folder;
  std::string name;
  ExperimentView baseline;
  /// Numbers 1, 2, ... in order.
  std::vector<ExperimentView> experiments;
  /// All runs of the journal, those of experiments too.
  std::vector<study::JournalRun> runs;
  /// By run id; only runs that left a curve.
  std::map<std::string, std::vector<study::CurvePoint>> curves;
  std::vector<study::LlmCall> llm_calls;
  std::vector<study::Journal::Event> events;
  /// Facts of the journal by name, as stored.
  std::map<std::string, base::Json> facts;

  /// The experiment of that number, the baseline for 0; nullptr if there is none.
  const ExperimentView* find(int64_t number) const;
  /// The fact, or nullptr.
  const base::Json* fact(const std::string& name) const;
  /// A number inside a fact, at a dotted path; nullopt if any part is absent or no number.
  std::optional<double> fact_number(const std::string& name, const std::string& path) const;
  /// Standard deviation of one run over seeds: run_sd of the fact "noise", else of the latest
  /// decision.
  std::optional<double> noise_bits_per_byte() const;
  /// Number of the last kept experiment that is believed, 0 if none.
  int64_t incumbent() const;
  /// How good the predictions were; the first row is of all together.
  std::vector<study::Calibration> calibration = study::calibrate({});
  study::AbortAudit abort_audit;
};

/// Reads logs/<study>. Errors: Error if there is no journal or it is damaged. A damaged line of a
/// curve ends that curve.
StudyData read_study(const std::filesystem::path& study);

}  // namespace windtunnel::report

#include "report/study_data.h"

#include "base/files.h"
#include "report/wording.h"
#include "study/curve_file.h"

namespace windtunnel::report {
namespace {

namespace fs = std::filesystem;
using base::Json;

constexpr const char* kFacts[] = {"program",         "corpus",         "baseline",
                                  "noise",           "night.stop",     "ladder.plan",
                                  "ladder.rungs",    "ladder.pairs",   "ladder.gains",
                                  "ladder.forecast", "plan.forecasts", "fit"};

/// Of the fact "baseline"; before the loop wrote it, config.json of the first run that has one.
Json baseline_config(const StudyData& data) {
  if (const Json* fact = data.fact("baseline")) {
    if (const Json* config = base::find_path(*fact, "config")) return *config;
  }
  for (const auto& run : data.baseline.runs) {
    const fs::path file = data.folder / "runs" / run.id / "config.json";
    if (fs::exists(file)) return base::read_json(file);
  }
  return nullptr;
}

void compute_mean(ExperimentView& view) {
  double sum = 0;
  int completed = 0;
  for (const auto& run : view.runs) {
    const auto value = run.record ? finite(run.record->bits_per_byte()) : std::nullopt;
    if (!value) continue;
    sum += *value;
    ++completed;
  }
  if (completed > 0) view.mean_bits_per_byte = sum / completed;
}

void compute_level(ExperimentView& view, const StudyData& data) {
  view.level = view.mean_bits_per_byte;
  const ExperimentView* parent = data.find(view.experiment.parent);
  if (parent == nullptr || !parent->level || !view.decided()) return;
  const auto delta = finite(view.experiment.decision->delta_bits_per_byte);
  if (delta) view.level = *parent->level + *delta;
}

}  // namespace

std::string ExperimentView::verdict() const {
  return decided() ? experiment.decision->verdict : "pending";
}

const ExperimentView* StudyData::find(int64_t number) const {
  if (number == 0) return &baseline;
  for (const auto& view : experiments) {
    if (view.experiment.number == number) return &view;
  }
  return nullptr;
}

const Json* StudyData::fact(const std::string& fact_name) const {
  const auto found = facts.find(fact_name);
  return found == facts.end() ? nullptr : &found->second;
}

std::optional<double> StudyData::fact_number(const std::string& fact_name,
                                             const std::string& path) const {
  const Json* document = fact(fact_name);
  const Json* value = document == nullptr ? nullptr : base::find_path(*document, path);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return finite(value->get<double>());
}

std::optional<double> StudyData::noise_bits_per_byte() const {
  if (const auto noise = fact_number("noise", "run_sd")) return noise;
  for (auto view = experiments.rbegin(); view != experiments.rend(); ++view) {
    if (!view->decided()) continue;
    if (const auto noise = finite(view->experiment.decision->noise_bits_per_byte)) return noise;
  }
  return std::nullopt;
}

int64_t StudyData::incumbent() const {
  int64_t number = 0;
  for (const auto& view : experiments) {
    if (view.kept()) number = view.experiment.number;
  }
  return number;
}

StudyData read_study(const fs::path& study) {
  const study::Journal journal(study / "journal.db", true);
  StudyData data;
  data.folder = study;
  data.name = fs::weakly_canonical(study).filename().string();
  data.runs = journal.runs();
  data.llm_calls = journal.llm_calls();
  data.events = journal.events();
  data.calibration = study::calibrate(journal.scored_groups());
  data.abort_audit = journal.abort_audit();
  for (const char* name : kFacts) {
    if (auto value = journal.fact(name)) data.facts[name] = std::move(*value);
  }
  for (const auto& run : data.runs) {
    auto curve = study::read_curve(study / "runs" / run.id / "curve.jsonl");
    if (!curve.empty()) data.curves[run.id] = std::move(curve);
  }
  const auto runs_of = [&](int64_t number) {
    std::vector<study::JournalRun> found;
    for (const auto& run : data.runs) {
      if (run.experiment == number && !run.is_reference()) found.push_back(run);
    }
    return found;
  };
  data.baseline.runs = runs_of(0);
  data.baseline.experiment.config = baseline_config(data);
  compute_mean(data.baseline);
  data.baseline.level = data.baseline.mean_bits_per_byte;
  for (auto& experiment : journal.experiments()) {
    ExperimentView view;
    view.runs = runs_of(experiment.number);
    view.experiment = std::move(experiment);
    compute_mean(view);
    compute_level(view, data);
    data.experiments.push_back(std::move(view));
  }
  return data;
}

}  // namespace windtunnel::report

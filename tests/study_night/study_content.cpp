#include "tests/study_night/study_content.h"

#include <regex>
#include <set>

#include "base/config.h"
#include "base/files.h"
#include "base/text.h"
#include "study/journal.h"

namespace windtunnel::tests {
namespace fs = std::filesystem;
namespace {

using base::Json;

/// Times and what depends on them, wherever they stand.
const std::set<std::string> kMeasuredByTheClock = {
    "expected_seconds",  "job",        "peak_memory_bytes", "seconds",
    "speed",             "started_at", "throughput_change", "tokens_per_second",
    "training_seconds",  "wall_seconds"};

Json without_clock(const Json& value) {
  if (value.is_object()) {
    Json kept = Json::object();
    for (const auto& [key, part] : value.items()) {
      if (!kMeasuredByTheClock.contains(key)) kept[key] = without_clock(part);
    }
    return kept;
  }
  if (value.is_array()) {
    Json kept = Json::array();
    for (const Json& part : value) kept.push_back(without_clock(part));
    return kept;
  }
  return value;
}

Json decision_of(const study::Experiment& experiment) {
  if (!experiment.decision) return nullptr;
  Json decision = without_clock(base::to_json(*experiment.decision));
  static const std::regex speed("tokens/s [^;]*; ");
  decision["observed"] = std::regex_replace(experiment.decision->observed, speed, "");
  return decision;
}

Json curve_of(const fs::path& run) {
  Json points = Json::array();
  if (!fs::exists(run / "curve.jsonl")) return points;
  for (const std::string& line : base::split(base::read_file(run / "curve.jsonl"), '\n')) {
    if (!line.empty()) points.push_back(without_clock(base::parse_json(line, "curve")));
  }
  return points;
}

}  // namespace

Json study_content(const fs::path& study) {
  const study::Journal journal(study / "journal.db", /*read_only=*/true);
  Json content;
  for (const study::Experiment& experiment : journal.experiments()) {
    content["experiments"].push_back({{"number", experiment.number},
                                      {"parent", experiment.parent},
                                      {"state", experiment.state},
                                      {"proposal", base::to_json(experiment.proposal)},
                                      {"config", experiment.config},
                                      {"config_fingerprint", experiment.config_fingerprint},
                                      {"decision", decision_of(experiment)}});
  }
  for (const study::JournalRun& run : journal.runs()) {
    const Json record = run.record ? base::to_json(*run.record) : Json();
    content["runs"][run.id] = {{"purpose", run.purpose},
                               {"experiment", run.experiment ? Json(*run.experiment) : Json()},
                               {"seed", run.seed},
                               {"state", run.state},
                               {"record", without_clock(record)},
                               {"curve", curve_of(study / "runs" / run.id)}};
  }
  for (const char* name :
       {"corpus", "baseline", "noise", "night.stop", "ladder.plan", "ladder.rungs", "ladder.pairs", "ladder.forecast", "fit"}) {
    content["facts"][name] = without_clock(journal.fact(name).value_or(Json()));
  }
  for (const study::LlmCall& call : journal.llm_calls()) {
    content["questions"][call.purpose] = {{"outcome", call.outcome}, {"message", call.message}};
  }
  return content;
}

std::vector<std::string> differences(const Json& first, const Json& second) {
  std::vector<std::string> lines;
  const auto at = [](const Json& document, const std::string& path) {
    const Json::json_pointer pointer(path);
    return document.contains(pointer) ? base::shorten(document.at(pointer).dump(), 200)
                                      : std::string("nothing");
  };
  for (const Json& step : Json::diff(first, second)) {
    const std::string path = step.at("path");
    lines.push_back(path + ": " + at(first, path) + " and " + at(second, path));
  }
  return lines;
}

}  // namespace windtunnel::tests

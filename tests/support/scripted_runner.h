#pragma once
// A runner without processes: each run ends at once with what a script says, and leaves its
// record.json as the real one does.

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "study/runner.h"

namespace windtunnel::tests {

class ScriptedRunner : public study::Runner {
 public:
  /// Fills in how a run ends: outcome, figures, evaluation. The rest of the record is set already.
  using Script = std::function<void(const study::RunRequest&, study::RunRecord&)>;

  ScriptedRunner(std::filesystem::path study, int slots, Script script)
      : study_(std::move(study)), slots_(slots), script_(std::move(script)) {}

  int slots() const override { return slots_; }
  int running() const override { return static_cast<int>(in_flight_.size()); }

  void start(const study::RunRequest& request) override {
    in_flight_.push_back(request);
    started.push_back(request.id);
    most_in_flight = std::max(most_in_flight, running());
  }

  std::optional<study::RunRecord> poll() override {
    if (in_flight_.empty()) return std::nullopt;
    const study::RunRequest request = in_flight_.front();
    in_flight_.pop_front();
    study::RunRecord record;
    record.id = request.id;
    record.purpose = request.purpose;
    record.seed = request.config.train.seed;
    record.config_fingerprint = study::config_fingerprint(request.config);
    record.data_fingerprint = "data";
    record.code_version = "code";
    record.comparability_key = study::comparability_key(request.config, "data", "code");
    record.train.outcome = study::outcome::kCompleted;
    record.train.tokens_per_second = 1000;
    record.wall_seconds = 12;
    record.started_at = "2000-01-01T00:00:00Z";
    script_(request, record);
    if (const auto given_up = aborted.find(request.id); given_up != aborted.end()) {
      record.train.outcome = study::outcome::kAborted;
      record.train.message = given_up->second;
      record.evaluation.reset();
    }
    study::write_record(study_, record);
    return record;
  }

  std::vector<study::RunProgress> progress() const override {
    std::vector<study::RunProgress> all;
    for (const study::RunRequest& request : in_flight_) {
      study::RunProgress glimpse;
      glimpse.id = request.id;
      glimpse.phase = "training";
      glimpse.latest.progress = 0.5;
      all.push_back(glimpse);
    }
    return all;
  }

  void abort(const std::string& id, const std::string& reason) override { aborted[id] = reason; }
  void stop_all() override { in_flight_.clear(); }

  /// Why a run was given up, by its id.
  std::map<std::string, std::string> aborted;

  /// Ids in the order in which they were started.
  std::vector<std::string> started;
  int most_in_flight = 0;

 private:
  std::filesystem::path study_;
  int slots_;
  Script script_;
  std::deque<study::RunRequest> in_flight_;
};

}  // namespace windtunnel::tests

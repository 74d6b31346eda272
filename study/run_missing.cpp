#include "study/run_missing.h"

#include <deque>
#include <map>
#include <set>

#include "base/error.h"
#include "base/interrupt.h"

namespace windtunnel::study {
namespace {

/// The record of a run that has ended, journalled now if the kill came between record.json and the
/// journal: the run happened and counts once.
std::optional<RunRecord> ended(const PlannedRun& planned, Journal& journal,
                               const std::filesystem::path& study) {
  const std::string& id = planned.request.id;
  const std::optional<JournalRun> known = journal.run(id);
  if (!known || known->record) return known ? known->record : std::nullopt;
  const std::optional<RunRecord> written = read_sealed_record(study, id);
  if (!written || written->seed != planned.request.config.train.seed ||
      written->config_fingerprint != config_fingerprint(planned.request.config)) {
    return std::nullopt;
  }
  journal.finish_run(*written);
  return written;
}

}  // namespace

std::vector<RunRecord> run_supplied(const RunSupply& supply, Journal& journal, Runner& runner,
                                    const std::filesystem::path& study,
                                    const std::function<void(Runner&)>& on_tick) {
  std::map<std::string, RunRecord> records;
  std::set<std::string> named;
  std::deque<PlannedRun> missing;
  const auto ask = [&] {
    for (bool has_news = true; has_news;) {
      has_news = false;
      for (PlannedRun& planned : supply()) {
        if (!named.insert(planned.request.id).second) continue;
        if (std::optional<RunRecord> record = ended(planned, journal, study)) {
          records[planned.request.id] = std::move(*record);
          has_news = true;
        } else {
          missing.push_back(std::move(planned));
        }
      }
    }
  };

  ask();
  while (!missing.empty() || runner.running() > 0) {
    if (base::interrupt_requested()) {
      runner.stop_all();
      throw base::Interrupted();
    }
    while (!missing.empty() && runner.running() < runner.slots()) {
      const PlannedRun planned = std::move(missing.front());
      missing.pop_front();
      journal.intend_run(planned.request.id, planned.request.purpose, planned.experiment,
                         planned.request.config.train.seed);
      runner.start(planned.request);
    }
    if (std::optional<RunRecord> record = runner.poll()) {
      journal.finish_run(*record);
      records[record->id] = std::move(*record);
      ask();
    }
    if (on_tick) on_tick(runner);
  }

  std::vector<RunRecord> result;
  for (const PlannedRun& planned : supply()) result.push_back(records.at(planned.request.id));
  return result;
}

std::vector<RunRecord> run_missing(const std::vector<PlannedRun>& plan, Journal& journal,
                                   Runner& runner, const std::filesystem::path& study,
                                   const std::function<void(Runner&)>& on_tick) {
  return run_supplied([&] { return plan; }, journal, runner, study, on_tick);
}

}  // namespace windtunnel::study

#include "study/run_missing.h"

#include <map>

#include "base/error.h"
#include "base/interrupt.h"

namespace windtunnel::study {

std::vector<RunRecord> run_missing(const std::vector<PlannedRun>& plan, Journal& journal,
                                   Runner& runner, const std::filesystem::path& study,
                                   const std::function<void(Runner&)>& on_tick) {
  std::map<std::string, RunRecord> records;
  std::vector<const PlannedRun*> missing;
  for (const PlannedRun& planned : plan) {
    const std::string& id = planned.request.id;
    const std::optional<JournalRun> known = journal.run(id);
    if (known && known->record) {
      records[id] = *known->record;
      continue;
    }
    // Killed between record.json and the journal: the run happened and counts once.
    const std::optional<RunRecord> written = known ? read_sealed_record(study, id) : std::nullopt;
    if (written && written->seed == planned.request.config.train.seed &&
        written->config_fingerprint == config_fingerprint(planned.request.config)) {
      journal.finish_run(*written);
      records[id] = *written;
      continue;
    }
    missing.push_back(&planned);
  }

  size_t next = 0;
  while (next < missing.size() || runner.running() > 0) {
    if (base::interrupt_requested()) {
      runner.stop_all();
      throw base::Interrupted();
    }
    while (next < missing.size() && runner.running() < runner.slots()) {
      const PlannedRun& planned = *missing[next++];
      journal.intend_run(planned.request.id, planned.request.purpose, planned.experiment,
                         planned.request.config.train.seed);
      runner.start(planned.request);
    }
    if (std::optional<RunRecord> record = runner.poll()) {
      journal.finish_run(*record);
      records[record->id] = std::move(*record);
    }
    if (on_tick) on_tick(runner);
  }

  std::vector<RunRecord> result;
  for (const PlannedRun& planned : plan) result.push_back(records.at(planned.request.id));
  return result;
}

}  // namespace windtunnel::study

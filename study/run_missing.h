#pragma once
// Runs a set of requests through a journal, so that any of them survives a kill and none runs
// twice.

#include <functional>
#include <optional>
#include <vector>

#include "study/journal.h"
#include "study/runner.h"

namespace windtunnel::study {

struct PlannedRun {
  RunRequest request;
  std::optional<int64_t> experiment;
};

/// All runs that are wanted as far as that is known, those that have ended among them. Asked again
/// whenever a run has ended; what it once named stays named.
using RunSupply = std::function<std::vector<PlannedRun>()>;

/// Runs what is missing of `plan`, as many at once as the runner has slots. Finished runs are taken
/// from the journal; one whose record.json was written (record_file.h) but not yet journalled is
/// adopted; the rest is started, in order. Returns the records in the order of the plan.
///
/// `on_tick` is called several times a second while something runs, for progress and to end runs
/// early.
/// Errors: Interrupted, after stopping what is in flight, when a stop was asked for.
std::vector<RunRecord> run_missing(const std::vector<PlannedRun>& plan, Journal& journal,
                                   Runner& runner, const std::filesystem::path& study,
                                   const std::function<void(Runner&)>& on_tick = {});

/// The same for runs that follow from how earlier ones ended: ends when nothing runs and the supply
/// names nothing else. Returns the records in the order in which the supply names them at the end.
std::vector<RunRecord> run_supplied(const RunSupply& supply, Journal& journal, Runner& runner,
                                    const std::filesystem::path& study,
                                    const std::function<void(Runner&)>& on_tick = {});

}  // namespace windtunnel::study

#pragma once
// Why an experiment was decided as it was, with all the numbers that went into it.

#include <string>

#include "base/json.h"
#include "study/journal.h"

namespace windtunnel::agent {

/// An experiment as the journal keeps it, for `log` and as the beginning of an explanation.
base::Json experiment_json(const study::Experiment& experiment);

/// Everything at once: proposal, prediction, states with their times, the sequential test with its
/// looks and levels, the seeds compared, noise, decision, what followed, and the proposer's word.
/// Errors: Error if there is no such experiment.
base::Json explanation(const study::Journal& journal, int64_t experiment);

/// The same as a page for people.
std::string explanation_text(const study::Journal& journal, int64_t experiment);

}  // namespace windtunnel::agent

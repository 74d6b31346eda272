#pragma once
// Whether a kept change holds: it was chosen because its runs were good, and they were compared
// with runs of its parent that may be hours older, when the machine was faster or slower. So it
// runs again, on seeds that had no part in choosing it, each beside a run of its parent.

#include <optional>
#include <string>
#include <vector>

#include "agent/night_state.h"

namespace windtunnel::agent {

struct ConfirmingPair {
  study::PlannedRun own;
  study::PlannedRun reference;
};

/// Of a kept experiment, for the seeds by which it is measured. Where the budget is seconds the
/// parent runs anew for it; what a budget of steps gives does not depend on when.
std::vector<ConfirmingPair> confirmation_of(int64_t kept, const NightState& state);

/// Why the kept experiment should not be believed: its pairs that are there do not show a gain with
/// `confidence`, or none completed. nullopt if they do, or none was run.
std::optional<std::string> unconfirmed(int64_t kept, const NightState& state, double confidence);

}  // namespace windtunnel::agent

#pragma once
// The decisions of experiments that are no candidates: what a kept gain is made of, whether it
// holds at another size, what a diagnostic run showed. Intervals are 80 %, with the noise of the
// night pooled with the control's own pairs.

#include <filesystem>
#include <vector>

#include "agent/night_state.h"
#include "agent/trial.h"

namespace windtunnel::agent {

/// Of a finished control.
///
///   matched_steps    learning = candidate at the incumbent's steps - incumbent;
///                    speed = candidate at its own time - candidate at those steps
///   factor           its path alone, beside the whole change
///   scale            the gain at both sizes and its slope with ln N; scale_candidate if the gain
///   at
///                    the other size is above 0 with the program's confidence
///   diagnostic       gradient norms and layer figures of both arms
///
/// `study` holds the runs' curves. Errors: NotComparable if the arms differ in more than the
/// control is about.
study::Decision decide_control(const study::Experiment& experiment, const Trial& trial,
                               const std::vector<Pair>& pairs, const NightState& state,
                               const Program& program, const std::filesystem::path& study);

}  // namespace windtunnel::agent

#pragma once
// What the harness tries by itself once an experiment is decided: repairs of what was unfit, and
// controls that say what a kept gain is made of and whether it holds.
//
//   repair          a better candidate whose router collapsed, or one that diverged: once more with
//                   what should cure it
//   matched_steps   a kept change that moved tokens per second, for as many steps as its incumbent
//   factor          one of several paths that a kept change set, alone
//   scale           a kept change and its incumbent at the program's other size
//
// All of it follows from the journal, so an interrupted night continues with the same ones.

#include <optional>
#include <string>
#include <vector>

#include "agent/night_state.h"

namespace windtunnel::agent {

/// Kinds of the follow-ups that a decision asks for, in order: Decision::next.
std::vector<std::string> next_of(const study::Experiment& experiment,
                                 const study::Decision& decision, const Program& program);

/// The first follow-up of the decided experiments that is not in the journal yet. Those of a kept
/// experiment that is no longer believed are left out.
std::optional<study::Experiment> next_follow_up(const NightState& state, const Program& program);

}  // namespace windtunnel::agent

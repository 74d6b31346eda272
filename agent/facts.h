#pragma once
// Names that the research loop stores: facts of the journal, and why a night ended.

namespace windtunnel::agent {

namespace fact {
/// {"config", "fingerprint"}: the resolved baseline, without seed.
inline constexpr const char* kBaseline = "baseline";
/// Noise, from all runs so far.
inline constexpr const char* kNoise = "noise";
/// {"reason", "text", "night"}: why the night ended, and the limits it ended under.
inline constexpr const char* kStop = "night.stop";
/// Wall clock that the night was at work.
inline constexpr const char* kHours = "night.hours";
/// The program as it was last run: what `explain` and a replay go by.
inline constexpr const char* kProgram = "program";
/// Where the study's literature tournament stands (literature.h).
inline constexpr const char* kLiterature = "literature";
}  // namespace fact

/// Why a night ended; stored by name.
namespace stop_reason {
inline constexpr const char* kExperimentsDone = "experiments_done";
inline constexpr const char* kDeviceSecondsSpent = "device_seconds_spent";
inline constexpr const char* kRunsSpent = "runs_spent";
inline constexpr const char* kDollarsSpent = "dollars_spent";
inline constexpr const char* kHoursSpent = "hours_spent";
inline constexpr const char* kConsecutiveFailures = "consecutive_failures";
inline constexpr const char* kPlateau = "plateau";
/// No proposer has anything new, or everything they propose is vetoed.
inline constexpr const char* kNoProposals = "no_proposals";
}  // namespace stop_reason

}  // namespace windtunnel::agent

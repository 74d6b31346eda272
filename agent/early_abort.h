#pragma once
// Giving a candidate up before its end. The criterion is the program's (AbortRule), so it is
// written before the run, and compares with the pair of the same seed at the same step.
//
// Of the candidates that would be given up, a drawn share runs on: what becomes of them is how
// often the rule is wrong (study::AbortAudit).

#include <optional>
#include <string>
#include <vector>

#include "agent/program_sections.h"
#include "study/journal.h"
#include "study/run_record.h"

namespace windtunnel::agent {

/// Why the rule gives the candidate up at the last point of its curve, or nullopt. The reference's
/// loss at that step is interpolated; nothing is said beyond its end, or before rule.progress.
std::optional<std::string> gives_up(const AbortRule& rule,
                                    const std::vector<study::CurvePoint>& candidate,
                                    const std::vector<study::CurvePoint>& reference);

/// The same at whatever point of a whole curve the rule would have spoken first.
std::optional<std::string> would_have_given_up(const AbortRule& rule,
                                               const std::vector<study::CurvePoint>& candidate,
                                               const std::vector<study::CurvePoint>& reference);

/// Whether an experiment runs to its end whatever the rule says: drawn from the night's seed and
/// its number.
bool is_audited(const AbortRule& rule, int64_t night_seed, int64_t experiment);

}  // namespace windtunnel::agent

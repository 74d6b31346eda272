#pragma once
// Giving a candidate up before its end. The criterion is the program's (AbortRule), so it is
// written before the run, and compares with the pair of the same seed at the same step.
//
// Of the candidates that would be given up, a drawn share runs on: what becomes of them is how
// often the rule is wrong.

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

/// How often the rule was wrong.
struct AbortAudit {
  /// Experiments that it gave up, and those that it would have but for the audit.
  int64_t aborted = 0;
  int64_t audited = 0;
  /// Of the audited ones, those that were kept.
  int64_t audited_and_kept = 0;
  /// audited_and_kept over audited; null while none was.
  std::optional<double> false_abort_rate() const {
    if (audited == 0) return std::nullopt;
    return static_cast<double>(audited_and_kept) / static_cast<double>(audited);
  }

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("aborted", self.aborted, {.help = "experiments that were given up"});
    visit("audited", self.audited,
          {.help = "experiments that ran on although the rule had spoken"});
    visit("audited_and_kept", self.audited_and_kept, {.help = "of those, the ones that were kept"});
  }
};

AbortAudit audit(const std::vector<study::Experiment>& experiments);

}  // namespace windtunnel::agent

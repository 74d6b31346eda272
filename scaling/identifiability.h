#pragma once
// What the rows can tell, said before the numbers are used. A fit always returns numbers; with few
// budgets the offset of L(C) = E + A C^-alpha is often any value between 0 and the smallest loss,
// and alpha and A move with it.

#include <map>
#include <string>

#include "scaling/law_fit.h"

namespace windtunnel::scaling {

/// Fewer distinct budgets, or a shorter range, give an offset only as an interval.
inline constexpr int kBudgetsForAnOffset = 8;
inline constexpr double kDecadesForAnOffset = 2;

/// By rule, for each parameter:
///   not_identified  an offset whose profile interval reaches 0 (the law without it is no worse at
///                   the same confidence) or has no upper end; any other parameter whose interval
///                   is open on both sides, or a bound the fit ended at
///   weak            an offset from fewer than 8 budgets or under two decades, or one that is not
///                   below the smallest loss; an exponent above 1; an interval open on one side;
///                   and every other parameter while the law's offset is not identified
///   identified      otherwise
Verdict identifiability(const Target& target, const Minimum& best, const Noise& noise,
                        const std::map<std::string, Interval>& profile,
                        const Diagnostics& diagnostics);

}  // namespace windtunnel::scaling

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

/// A law of size and tokens needs this many sizes, over this factor; the same factor holds for
/// tokens and for tokens per parameter.
inline constexpr int kSizes = 3;
inline constexpr double kRangeOfSizes = 2;
/// Of the Jacobian with columns scaled to 1. Along D = k N it exceeds both.
inline constexpr double kWarnCondition = 1e3;
inline constexpr double kRefuseCondition = 1e6;

/// By rule, for each parameter:
///   refused     an offset whose profile interval reaches 0 (the law without it is no worse at the
///               same confidence) or has no upper end; any other parameter whose interval is open
///               on both sides, or a bound the fit ended at; the terms of N (of D) if there are
///               fewer than 3 sizes or they lie within a factor of 2; everything at a condition
///               above 1e6
///   weak        an offset from fewer than 8 budgets or under two decades, or one that is not below
///               the smallest loss; an exponent above 1; an interval open on one side; every other
///               parameter while the law's offset is refused; the terms of N and D while tokens per
///               parameter vary by less than 2; everything at a condition above 1e3
///   identified  otherwise
/// Each reason comes with the runs that would cure it.
Verdict identifiability(const Target& target, const Minimum& best, const Noise& noise,
                        const std::map<std::string, Interval>& profile,
                        const Diagnostics& diagnostics);

}  // namespace windtunnel::scaling

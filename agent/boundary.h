#pragma once
// The boundary of a group-sequential test: how small a p-value must be at each look so that all
// looks together err with probability `alpha`.
//
// Formula: the error spent by the look at information t in (0, 1] is alpha t^2 in total: little
// early, so that a false start rarely counts, nearly all of it at the end, where power is needed.
// The boundary solves, look by look, P(first crossing at look k) = alpha (t_k^2 - t_{k-1}^2) for a
// standard Brownian motion, by numerical integration of its density below the boundary.
// Source:  Lan & DeMets 1983, "Discrete sequential boundaries for clinical trials"; the power
// family
//          of Kim & DeMets 1987; Jennison & Turnbull 2000, "Group Sequential Methods", ch. 7
//          and 19.
// Why:     looks are fixed before the run, so it is exact and keeps far more power than an e-value,
//          which pays for looks at any time; p-values instead of z carry over to t statistics
//          (Jennison & Turnbull 2000, 11.5).

#include <vector>

namespace windtunnel::agent {

/// One-sided nominal p-value at each look. `information` is 1 over the variance of the estimate at
/// each look, in any unit: sample sizes where every observation adds as much.
///
/// Errors: logic_error if it is empty, not positive or does not rise, or alpha is outside (0, 1).
std::vector<double> nominal_levels(const std::vector<double>& information, double alpha);

}  // namespace windtunnel::agent

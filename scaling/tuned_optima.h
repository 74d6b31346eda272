#pragma once
// The rows of a law of learning rates or batches: one optimum for each size and amount of tokens,
// from runs that tried several values there.

#include "scaling/observations.h"

namespace windtunnel::scaling {

/// Groups `observations` by N and D (to 1 %) and finds in each group where ln loss over the
/// logarithm of `quantity` (kLearningRate or kBatchTokens) is least, by the rule of a ladder's grid
/// (choose_rate in rate_search.h): the vertex of the parabola through the best value and its
/// neighbours. At each value the lowest loss counts, whatever else was swept. A group of one row is
/// an optimum that is known already, unless it says that it was not tuned. Groups whose best value
/// is their lowest or highest, or without the quantity, are left out with the reason.
///
/// In the result loss and unit are those of the quantity.
Observations tuned_optima(const Observations& observations, Variable quantity);

}  // namespace windtunnel::scaling

#pragma once
// What is odd about rows, said and not acted upon: nothing is dropped for it.

#include "scaling/observations.h"

namespace windtunnel::scaling {

/// In the order of the rows:
///   duplicate            same N, D, C and loss as an earlier row
///   outlier              more than six standard deviations (from the median deviation) off a
///   robust
///                        fit of the rows' own trend; needs ten rows
///   unfinished_schedule  the learning rate did not run to its end: the loss is not final
///   untuned              the learning rate was not tuned for this size
///   edge_of_grid         the best of several learning rates at one size and budget is the lowest
///   or
///                        the highest: the optimum lies outside the grid
std::vector<Flag> flags_of(const std::vector<Observation>& rows);

}  // namespace windtunnel::scaling

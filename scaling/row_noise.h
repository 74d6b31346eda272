#pragma once
// How noisy each row is, and so how much it weighs. A row's loss differs from the law by what its
// evaluation could not see (its standard error, recorded with the row) and by what one run differs
// from another with other seeds:
//
//   variance_i = tau^2 + se_i^2          (se_i / L_i where residuals are of ln L)
//   weight_i   = s / sqrt(variance_i),   s: geometric mean, so that Huber's width keeps its unit
//
// Weighing by the standard errors alone would follow the longest evaluations blindly where seeds
// matter more; tau says how much they matter. It is the known noise of one run where the options
// have one (FitOptions::noise_floor), else the value at which the residuals are as large as they
// say they are:  sum_i r_i^2 / (tau^2 + se_i^2) = rows - parameters,  0 if they are smaller.
//
// Only errors of their own are noise between rows. Rows that were scored on one text (all of a
// ladder's) are off together by what that text is harder than others, and weigh alike.
//
// Source:  Paule and Mandel 1982, J. Res. NBS 87, 377; for a fitted law instead of a mean.

#include "scaling/law_fit.h"

namespace windtunnel::scaling {

/// Sets the weights of `target`, made of `rows`, where options.weights asks for it and every row
/// has a standard error; otherwise leaves them alike and says why.
///
/// Cost:    a few descents from one unweighted search.
/// Errors:  Error naming the row whose standard error is not positive.
RowNoise weigh_rows(Target& target, const std::vector<Observation>& rows,
                    const FitOptions& options);

/// What `fit` minimised over these rows (or minimises over part of them): with its weights.
Target target_of(const std::vector<Observation>& rows, const LawFit& fit);

/// One line for people.
std::string row_noise_text(const RowNoise& noise);

}  // namespace windtunnel::scaling

#pragma once
// Figures of one fit, as files: the law with its band and what was held out, the residuals, the
// profile of each parameter, the hold-outs as a staircase and, with approaches, the hull and the
// iso-FLOP parabolas.

#include <filesystem>
#include <vector>

#include "scaling/approaches.h"

namespace windtunnel::report {

/// Leaves law, residuals, profiles, staircase, hull and isoflop, each as .svg, .png, .pdf and .gp,
/// in `folder`, which is made; those that the fit has nothing for are not written. `rows` are the
/// fitted ones. `approaches` may be null.
/// Errors: Error if gnuplot cannot be started or fails.
void write_fit_figures(const scaling::LawFit& fit, const scaling::Approaches* approaches,
                       const std::vector<scaling::Observation>& rows,
                       const std::filesystem::path& folder);

}  // namespace windtunnel::report

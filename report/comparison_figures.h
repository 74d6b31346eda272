#pragma once
// Figures of comparisons between models: whether gains scale, and where a swept quantity is best.

#include <filesystem>
#include <vector>

#include "report/figures/figure.h"
#include "scaling/gain.h"
#include "scaling/sweep.h"

namespace windtunnel::report {

/// The gain of each arm at each size, with the noise of its pairs, and the trends; nullopt without
/// a size that has compute.
std::optional<Figure> gains_figure(const std::vector<scaling::GainVerdict>& gains,
                                   const Layout& layout);

/// Loss over the quantity, with the parabola and the interval of its minimum where there is one.
std::optional<Figure> sweep_figure(const scaling::Sweep& sweep);

/// Leave gains, or sweep, as .svg, .png, .pdf and .gp in `folder`, which is made.
/// Errors: Error if there is nothing to draw, or if gnuplot cannot be started or fails.
void write_gains_figure(const std::vector<scaling::GainVerdict>& gains,
                        const std::filesystem::path& folder);
void write_sweep_figure(const scaling::Sweep& sweep, const std::filesystem::path& folder);

}  // namespace windtunnel::report

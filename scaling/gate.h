#pragma once
// A law is believed as far as it has been tested. The rows are cut at rising budgets; up to each
// cut the law is fitted, and forecasts the rows up to the next. What the forecasts miss beyond
// their own intervals is the error of the law, which no interval from inside the rows can see.

#include "scaling/law_fit.h"

namespace windtunnel::scaling {

/// At most twelve cuts, evenly through the distinct budgets; the first leaves enough rows to fit
/// and never less than a third of them. A gate without windows says why in `note`.
///
/// A run whose rows are tested has none among the fitted ones.
///
/// `target` is what the law is fitted to, made of `rows` (read for their names), with its weights;
/// of the options only those of intervals are read.
///
/// Cost:    one short search for each cut, an interval for each tested row; a table above 2,000
///          rows is thinned to that.
Gate run_gate(const Target& target, const std::vector<Observation>& rows, const FitOptions& options,
              const FitProgress& progress = {});

}  // namespace windtunnel::scaling

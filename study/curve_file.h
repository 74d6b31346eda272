#pragma once
// Reading curve.jsonl, which a trainer may be writing.

#include <filesystem>
#include <vector>

#include "study/run_record.h"

namespace windtunnel::study {

/// The complete points of a curve file, in order; none if there is no file. A line that is cut
/// short or damaged ends the curve.
std::vector<CurvePoint> read_curve(const std::filesystem::path& file);

}  // namespace windtunnel::study

#pragma once
// results.tsv: one row per experiment, for programs. The first five columns are those of
// karpathy/autoresearch (commit val_bpb memory_gb status description), so its tools read the file;
// status is keep, discard or crash there, and the exact verdict is a column of ours. A missing
// value is empty.

#include <string>

#include "report/study_data.h"

namespace windtunnel::report {

std::string results_tsv(const StudyData& data);

}  // namespace windtunnel::report

#pragma once
// A study folder with made-up records, written through the Journal's own interface: what the demo
// leaves, in miniature and without training anything.

#include <filesystem>

namespace windtunnel::report {

struct SampleOptions {
  /// Experiments 1..n of a fixed list of eleven; the last one is left undecided if `is_half_way`.
  int experiments = 11;
  bool is_half_way = false;
  bool has_ladder = true;
};

/// Makes the study in `folder`, which is emptied first.
void write_sample_study(const std::filesystem::path& folder, const SampleOptions& options = {});

}  // namespace windtunnel::report

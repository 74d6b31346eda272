#pragma once
// curve.jsonl: the training curve, one point a line, written as it happens.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "study/curve_file.h"

namespace windtunnel::trainer {

class Curve {
 public:
  /// Opens the file for appending. Points after `step` and a last line that was cut short are
  /// removed first: they belong to work that is done again. Errors: Error naming the file.
  Curve(std::filesystem::path file, int64_t step);

  /// One line, handed to the system at once. Errors: Error naming the file.
  void append(const study::CurvePoint& point);

  /// Mean training loss over the last tenth of the budget (the last point where none lies in it);
  /// nullopt if there is no point.
  std::optional<double> final_loss() const;

 private:
  std::filesystem::path file_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_;
};

using study::read_curve;

}  // namespace windtunnel::trainer

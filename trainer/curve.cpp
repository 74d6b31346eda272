#include "trainer/curve.h"

#include <cerrno>

#include "base/files.h"

namespace windtunnel::trainer {
namespace {

constexpr double kLastTenth = 0.9;

std::string line_of(const study::CurvePoint& point) { return base::to_json(point).dump() + "\n"; }

}  // namespace

Curve::Curve(std::filesystem::path file, int64_t step)
    : file_(std::move(file)), stream_(nullptr, &std::fclose) {
  std::string kept;
  if (step > 0) {
    for (const auto& point : read_curve(file_)) {
      if (point.step <= step) kept += line_of(point);
    }
  }
  base::write_file_atomic(file_, kept);
  stream_.reset(std::fopen(file_.c_str(), "ab"));
  if (!stream_) base::throw_file_error("write", file_, errno);
}

void Curve::append(const study::CurvePoint& point) {
  const std::string line = line_of(point);
  if (std::fwrite(line.data(), line.size(), 1, stream_.get()) != 1 ||
      std::fflush(stream_.get()) != 0) {
    base::throw_file_error("write", file_, errno);
  }
}

std::optional<double> Curve::final_loss() const {
  // A point is a mean over the steps since the one before, so points weigh by their steps.
  double sum = 0;
  double weight = 0;
  int64_t previous = 0;
  std::optional<double> last;
  for (const auto& point : read_curve(file_)) {
    last = point.loss_nats_per_token;
    const auto steps = static_cast<double>(point.step - previous);
    previous = point.step;
    if (point.progress < kLastTenth || !last) continue;
    sum += *last * steps;
    weight += steps;
  }
  return weight > 0 ? std::optional(sum / weight) : last;
}

}  // namespace windtunnel::trainer

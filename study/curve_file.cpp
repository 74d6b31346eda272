#include "study/curve_file.h"

#include <fstream>

namespace windtunnel::study {

std::vector<CurvePoint> read_curve(const std::filesystem::path& file) {
  std::vector<CurvePoint> points;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (stream.eof()) break;  // without its end: still being written
    const base::Json json = base::Json::parse(line, nullptr, false);
    if (!json.is_object()) break;
    points.push_back(base::from_trusted_json<CurvePoint>(json));
  }
  return points;
}

}  // namespace windtunnel::study

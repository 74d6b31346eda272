#include "trainer/curve.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace windtunnel::trainer {
namespace {

study::CurvePoint point(int64_t step, double progress, double loss) {
  study::CurvePoint point;
  point.step = step;
  point.progress = progress;
  point.loss_nats_per_token = loss;
  return point;
}

TEST(Curve, ResumingCutsBackToTheCheckpointsStepAndDropsALineCutShort) {
  const tests::TemporaryFolder folder;
  const auto file = folder / "curve.jsonl";
  {
    Curve curve(file, 0);
    for (int64_t step = 1; step <= 4; ++step) curve.append(point(step, 0.1, 1));
  }
  std::ofstream(file, std::ios::app) << "{\"step\":5,";
  Curve curve(file, 3);
  curve.append(point(4, 0.2, 2));
  const auto points = read_curve(file);
  ASSERT_EQ(points.size(), 4);
  EXPECT_EQ(points[2].step, 3);
  EXPECT_EQ(points[3].loss_nats_per_token, 2);
}

TEST(Curve, AFreshRunStartsAFreshCurve) {
  const tests::TemporaryFolder folder;
  Curve(folder / "curve.jsonl", 0).append(point(1, 0.1, 1));
  Curve(folder / "curve.jsonl", 0).append(point(2, 0.1, 1));
  EXPECT_EQ(read_curve(folder / "curve.jsonl").size(), 1);
}

TEST(Curve, FinalLossIsTheMeanOverTheStepsOfTheLastTenth) {
  const tests::TemporaryFolder folder;
  Curve curve(folder / "curve.jsonl", 0);
  EXPECT_EQ(curve.final_loss(), std::nullopt);
  curve.append(point(80, 0.8, 9));
  EXPECT_EQ(curve.final_loss(), 9);
  curve.append(point(90, 0.9, 2));
  curve.append(point(95, 0.95, 1));
  EXPECT_DOUBLE_EQ(*curve.final_loss(), (10 * 2.0 + 5 * 1.0) / 15);
}

}  // namespace
}  // namespace windtunnel::trainer

#include "study/device_lease.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/files.h"
#include "tests/study/scripted_trainer.h"

namespace windtunnel::study {
namespace {

using ::testing::HasSubstr;
using tests::TemporaryFolder;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TEST(DeviceLease, OneStudyAtATimeHasAGpuAndTheOtherLearnsWhich) {
  const TemporaryFolder folder;
  DeviceLease first(folder.path(), "logs/first"), second(folder.path(), "logs/second");
  EXPECT_FALSE(first.take("cuda", 4));
  const auto owner = second.take("cuda", 1);
  ASSERT_TRUE(owner);
  EXPECT_THAT(owner->text(),
              HasSubstr("study logs/first, process " + std::to_string(::getpid()) + ", since 2"));
  EXPECT_FALSE(second.is_held());
  first.give_back();
  EXPECT_FALSE(second.take("cuda", 1));
}

TEST(DeviceLease, TheCpuIsSharedByItsThreads) {
  const TemporaryFolder folder;
  const int threads = places_of("cpu");
  DeviceLease first(folder.path(), "a"), second(folder.path(), "b"), third(folder.path(), "c");
  EXPECT_FALSE(first.take("cpu", threads - 1 > 0 ? threads - 1 : 1));
  EXPECT_EQ(second.take("cpu", 1).has_value(), threads == 1);
  EXPECT_TRUE(third.take("cpu", 1));
}

TEST(DeviceLease, MoreThreadsThanThereAreIsAllOfThem) {
  const TemporaryFolder folder;
  DeviceLease first(folder.path(), "a");
  EXPECT_FALSE(first.take("cpu", 100'000));
}

TEST(DeviceLease, AnOwnerThatDiedHasNothing) {
  const TemporaryFolder folder;
  const pid_t owner = ::fork();
  if (owner == 0) {
    DeviceLease lease(folder.path(), "dead");
    lease.take("cuda", 1);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(owner, nullptr, 0);
  EXPECT_THAT(base::read_file(folder / "cuda-0.json"), HasSubstr("\"study\":\"dead\""));
  DeviceLease lease(folder.path(), "next");
  EXPECT_FALSE(lease.take("cuda", 1));
}

TEST(DeviceLease, OneThatIsNotRenewedExpires) {
  const TemporaryFolder folder;
  DeviceLease hung(folder.path(), "hung"), next(folder.path(), "next");
  hung.take("cuda", 1);
  base::Json lease = base::read_json(folder / "cuda-0.json");
  EXPECT_NEAR(lease["expires_at"].get<double>(), now() + DeviceLease::kSeconds, 5);
  EXPECT_TRUE(next.take("cuda", 1));
  lease["expires_at"] = now() - 1;
  base::write_json(folder / "cuda-0.json", lease);
  EXPECT_FALSE(next.take("cuda", 1));
  hung.give_back();
  EXPECT_THAT(base::read_file(folder / "cuda-0.json"), HasSubstr("next")) << "not its own any more";
}

TEST(DeviceLease, AFileThatWasCutShortIsNobodys) {
  const TemporaryFolder folder;
  base::write_file_atomic(folder / "cuda-0.json", "{\"process\": {\"pi");
  DeviceLease lease(folder.path(), "next");
  EXPECT_FALSE(lease.take("cuda", 1));
}

using LeasedRunner = ScriptedTrainer;

TEST_F(LeasedRunner, ARunWaitsForAnotherStudyAndSaysSo) {
  trainer(good_training());
  auto other = std::make_unique<DeviceLease>(limits_.leases, "other");
  other->take("cpu", 100'000);
  const auto one = runner();
  one->start(request());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(one->poll());
  EXPECT_EQ(one->progress()[0].phase, "waiting for the device");
  other.reset();
  std::optional<RunRecord> record;
  while (!record) record = one->poll();
  EXPECT_TRUE(record->completed());
  EXPECT_GT(*record->job.waited_for_device_seconds, 0.3);
  DeviceLease next(limits_.leases, "next");
  EXPECT_FALSE(next.take("cpu", 100'000)) << "given back with the last run";
}

}  // namespace
}  // namespace windtunnel::study

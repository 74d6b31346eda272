#include "base/bounded_output.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/child_process.h"
#include "base/files.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::base {
namespace {

using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::TemporaryFolder;

ChildOptions printing(const std::string& script, const std::filesystem::path& file,
                      int64_t max_bytes = 1000) {
  return {.command = {"sh", "-c", script}, .output_file = file, .max_output_bytes = max_bytes};
}

TEST(BoundedOutput, LittleIsKeptAsItIs) {
  const TemporaryFolder folder;
  ASSERT_TRUE(run_child(printing("echo out; echo err >&2", folder / "log"), seconds(20)).ok());
  EXPECT_EQ(read_file(folder / "log"), "out\nerr\n");
}

TEST(BoundedOutput, OfAFloodTheBeginningAndTheEndStay) {
  const TemporaryFolder folder;
  const auto status = run_child(
      printing("echo first; head -c 50000000 /dev/zero; echo last", folder / "log"), seconds(60));
  EXPECT_TRUE(status.ok()) << status.text();
  const std::string log = read_file(folder / "log");
  EXPECT_LT(log.size(), 1100u);
  EXPECT_THAT(log, StartsWith("first\n"));
  EXPECT_THAT(log, EndsWith("last\n"));
  EXPECT_THAT(log, HasSubstr("[49999011 bytes of output are left out]"));
}

TEST(BoundedOutput, TheFileIsSmallWhileTheFloodGoesOn) {
  const TemporaryFolder folder;
  ChildProcess child(printing("cat /dev/zero", folder / "log"));
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_LT(std::filesystem::file_size(folder / "log"), 1100u);
  }
  child.stop(seconds(1));
  EXPECT_GT(std::filesystem::file_size(folder / "log"), 900u);
}

TEST(BoundedOutput, ASecondProcessAddsToTheFirst) {
  const TemporaryFolder folder;
  run_child(printing("echo one", folder / "log"), seconds(20));
  run_child(printing("head -c 5000 /dev/zero; echo two", folder / "log"), seconds(20));
  EXPECT_THAT(read_file(folder / "log"), StartsWith("one\n"));
  EXPECT_THAT(read_file(folder / "log"), EndsWith("two\n"));
}

TEST(BoundedOutput, ALineShowsBeforeTheProcessEnds) {
  const TemporaryFolder folder;
  ChildProcess child(printing("echo here; sleep 100", folder / "log"));
  for (int i = 0; i < 500 && read_file(folder / "log").empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(read_file(folder / "log"), "here\n");
}

}  // namespace
}  // namespace windtunnel::base

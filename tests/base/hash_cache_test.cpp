#include "base/hash_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::base {
namespace {

using tests::TemporaryFolder;

void overwrite(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

TEST(HashCache, IsTheHashOfTheContent) {
  const TemporaryFolder folder;
  overwrite(folder / "a", "wind");
  HashCache cache;
  EXPECT_EQ(cache.of(folder / "a"), sha256("wind"));
  EXPECT_THROW(cache.of(folder / "b"), Error);
}

TEST(HashCache, AChangeRightAfterTheHashIsSeen) {
  const TemporaryFolder folder;
  HashCache cache;
  for (int i = 0; i < 200; ++i) {
    overwrite(folder / "a", std::to_string(i % 10));
    EXPECT_EQ(cache.of(folder / "a"), sha256(std::to_string(i % 10)));
  }
}

TEST(HashCache, AChangeOfEqualSizeWithItsTimePutBackIsSeen) {
  const TemporaryFolder folder;
  overwrite(folder / "a", "wind");
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // old enough to be relied on
  HashCache cache;
  EXPECT_EQ(cache.of(folder / "a"), sha256("wind"));
  struct stat before = {};
  ::stat((folder / "a").c_str(), &before);
  overwrite(folder / "a", "wing");
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder / "a").c_str(), times, 0), 0);
  EXPECT_EQ(cache.of(folder / "a"), sha256("wing"));
}

TEST(HashCache, AnUnchangedFileIsNotReadAgain) {
  const TemporaryFolder folder;
  overwrite(folder / "a", std::string(64 << 20, 'x'));
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  HashCache cache;
  const double start = monotonic_seconds();
  cache.of(folder / "a");
  const double first = monotonic_seconds() - start;
  cache.of(folder / "a");
  const double second = monotonic_seconds() - start - first;
  RecordProperty("megabytes_per_second", std::to_string(64 * 1.048576 / first));
  EXPECT_LT(second, first / 20);
}

}  // namespace
}  // namespace windtunnel::base

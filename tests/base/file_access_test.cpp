#include "base/file_access.h"

#include <gmock/gmock.h>

#include "base/child_process.h"
#include "base/files.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::base {
namespace {

using std::chrono::seconds;
using tests::TemporaryFolder;

class FileAccessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_restrict_files()) GTEST_SKIP() << "this kernel has no Landlock";
    write_file_atomic(folder_ / "data/open.text", "open\n");
    write_file_atomic(folder_ / "data/held.text", "secret\n");
    write_file_atomic(folder_ / "data/locked/deep.text", "secret\n");
    std::filesystem::create_directories(folder_ / "run");
  }

  /// True if a shell that is so restricted succeeds in `script`; its folder is $PWD.
  bool can(const std::string& script) const {
    ChildOptions options{.command = {"sh", "-c", script}, .working_folder = folder_.path()};
    options.file_access = FileAccess{
        .writable = {folder_ / "run"},
        .hidden = {folder_ / "data/held.text", folder_ / "data/locked", folder_ / "not there"}};
    return run_child(options, seconds(20)).ok();
  }

  TemporaryFolder folder_;
};

TEST_F(FileAccessTest, WhatIsNotHiddenIsRead) {
  EXPECT_TRUE(can("cat data/open.text /etc/passwd"));
}

TEST_F(FileAccessTest, HiddenFilesAndFoldersCannotBeRead) {
  EXPECT_FALSE(can("cat data/held.text"));
  EXPECT_FALSE(can("cat data/locked/deep.text"));
}

TEST_F(FileAccessTest, ALinkOrARenameGivesNoWayIn) {
  EXPECT_FALSE(can("ln -s ../data/held.text run/link && cat run/link"));
  EXPECT_FALSE(can("ln data/held.text run/link && cat run/link"));
  EXPECT_FALSE(can("mv data/held.text run/ && cat run/held.text"));
}

TEST_F(FileAccessTest, OnlyWhatIsWritableChanges) {
  EXPECT_TRUE(can("echo x > run/new && mv run/new run/newer && rm run/newer && mkdir run/folder"));
  EXPECT_TRUE(can("echo x > /dev/null"));
  EXPECT_FALSE(can("echo x > data/new"));
  EXPECT_FALSE(can("echo x >> data/open.text"));
  EXPECT_FALSE(can("truncate -s 0 data/open.text"));
  EXPECT_FALSE(can("rm data/open.text"));
  EXPECT_EQ(read_file(folder_ / "data/open.text"), "open\n");
}

TEST_F(FileAccessTest, WhatTheChildStartsIsHeldToo) {
  EXPECT_FALSE(can("setsid sh -c 'cat data/held.text'"));
}

}  // namespace
}  // namespace windtunnel::base

#include "base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::base {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::TemporaryFolder;

TEST(Files, AnAtomicWriteMakesFoldersAndReplacesTheContent) {
  const TemporaryFolder folder;
  const fs::path file = folder / "a/b/c.txt";
  write_file_atomic(file, "one");
  write_file_atomic(file, std::string("tw\0o", 4));
  EXPECT_EQ(read_file(file), std::string("tw\0o", 4));
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), {}), 1);
}

TEST(Files, AFailedWriteNamesTheFileAndKeepsTheOldContent) {
  const TemporaryFolder folder;
  const fs::path file = folder / "state.json";
  write_file_atomic(file, "old");
  // A limit on the file size fails a write half-way, as a full disk does.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    write_file_atomic(file, std::string(5000, 'x'));
  } catch (const Error& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(message, HasSubstr("cannot write " + file.string() + ": File too large"));
  EXPECT_EQ(read_file(file), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, AFolderIsCompleteOrAbsent) {
  const TemporaryFolder folder;
  const auto fill = [](const std::string& text) {
    return [text](const fs::path& temporary) { write_file_atomic(temporary / "a", text); };
  };
  // With and without a slash at the end, and in folders that are not there yet.
  write_folder_atomic(folder / "deep/er/", fill("one"));
  write_folder_atomic(folder / "deep/er", fill("two"));
  EXPECT_EQ(read_file(folder / "deep/er/a"), "two");
  EXPECT_THROW(write_folder_atomic(folder / "deep/er",
                                   [&](const fs::path& temporary) {
                                     fill("three")(temporary);
                                     throw Error("half-way");
                                   }),
               Error);
  EXPECT_EQ(read_file(folder / "deep/er/a"), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "deep"), {}), 1);
}

TEST(Files, AFileThatOthersWriteIsCompleteOrAbsent) {
  const TemporaryFolder folder;
  const fs::path file = folder / "new/values";
  write_file_atomic(file, [](const fs::path& temporary) { std::ofstream(temporary) << "whole"; });
  EXPECT_EQ(read_file(file), "whole");
  EXPECT_THROW(write_file_atomic(file,
                                 [](const fs::path& temporary) {
                                   std::ofstream(temporary) << "ha";
                                   throw Error("half-way");
                                 }),
               Error);
  EXPECT_EQ(read_file(file), "whole");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "new"), {}), 1);
}

TEST(Files, AFolderThatCannotBeMadeIsNamed) {
  const TemporaryFolder folder;
  write_file_atomic(folder / "file", "text");
  try {
    write_folder_atomic(folder / "file/inside", [](const fs::path&) {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot make folder " + (folder / "file/inside").string()));
    EXPECT_THAT(error.what(), HasSubstr("Not a directory"));
  }
}

TEST(Files, AMissingFileIsNamed) {
  try {
    read_file("/nowhere/at/all");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot read /nowhere/at/all: No such file"));
  }
}

TEST(Files, AFolderIsReplacedAsAWhole) {
  const TemporaryFolder folder;
  write_file_atomic(folder / "new/x", "1");
  write_file_atomic(folder / "there/old", "2");
  replace_folder(folder / "new", folder / "there");
  EXPECT_TRUE(fs::exists(folder / "there/x"));
  EXPECT_FALSE(fs::exists(folder / "there/old"));
  EXPECT_FALSE(fs::exists(folder / "new"));
}

TEST(Files, AReplacedFolderIsThereAtEveryMoment) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a");
  fs::create_directories(folder / "b");
  if (::renameat2(AT_FDCWD, (folder / "a").c_str(), AT_FDCWD, (folder / "b").c_str(),
                  RENAME_EXCHANGE) != 0) {
    GTEST_SKIP() << "this file system cannot let two folders change places";
  }
  std::atomic<bool> done = false;
  int absent = 0;
  std::thread watcher([&] {
    while (!done) absent += !fs::exists(folder / "b");
  });
  for (int i = 0; i < 300; ++i) {
    fs::create_directories(folder / "new");
    replace_folder(folder / "new", folder / "b");
  }
  done = true;
  watcher.join();
  EXPECT_EQ(absent, 0);
}

TEST(Files, LeftoversOfAnInterruptedWriteAreSwept) {
  const TemporaryFolder folder;
  write_file_atomic(folder / "keep", "1");
  std::ofstream(temporary_name(folder / "keep")) << "half";
  remove_leftovers(folder.path());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, GlobTakesStarsWithinAFolderAndDoubleStarsAcross) {
  const TemporaryFolder folder;
  for (const char* name : {"a.txt", "b.md", "x/c.txt", "x/y/d.txt"})
    write_file_atomic(folder / name, "");
  const auto names = [&](const std::string& pattern) {
    std::vector<std::string> result;
    for (const fs::path& path : glob((folder / pattern).string())) {
      result.push_back(path.lexically_relative(folder.path()).string());
    }
    return result;
  };
  EXPECT_THAT(names("*.txt"), ElementsAre("a.txt"));
  EXPECT_THAT(names("**/*.txt"), ElementsAre("a.txt", "x/c.txt", "x/y/d.txt"));
  EXPECT_THAT(names("b.md"), ElementsAre("b.md"));
}

TEST(FolderLock, AFolderOwnedByALivingProcessIsRefusedAndFreedByItsDeath) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const FolderLock lock(folder.path());
    [[maybe_unused]] const ssize_t written = write(ready[1], "x", 1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  try {
    const FolderLock lock(folder.path());
    FAIL() << "locked twice";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is in use by process " + std::to_string(holder)));
  }
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  const FolderLock lock(folder.path());
}

}  // namespace
}  // namespace windtunnel::base

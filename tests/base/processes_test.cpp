#include "base/processes.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "base/child_process.h"
#include "base/files.h"
#include "base/text.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::TemporaryFolder;

bool lives(pid_t pid) { return ::kill(pid, 0) == 0; }

pid_t number_in(const std::filesystem::path& file) {
  for (int i = 0; i < 500; ++i) {
    if (std::filesystem::exists(file)) {
      const std::string text = read_file(file);
      if (!text.empty() && text.back() == '\n') return std::stoi(text);
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
  ADD_FAILURE() << file << " was not written";
  return 0;
}

TEST(Processes, ANumberThatIsGivenAgainIsAnotherProcess) {
  ProcessName name = this_process();
  EXPECT_TRUE(is_alive(name));
  name.start_ticks -= 1;
  EXPECT_FALSE(is_alive(name));
  name = this_process();
  name.boot = "another start of the machine";
  EXPECT_FALSE(is_alive(name));
}

TEST(Processes, AreFoundByAVariableOfTheirEnvironment) {
  const ChildProcess child({.command = {"sleep", "100"}, .environment = {{"WT_MARK", "one two"}}});
  EXPECT_THAT(processes_with("WT_MARK", "one two"), ::testing::ElementsAre(child.pid()));
  EXPECT_THAT(processes_with("WT_MARK", "one"), ::testing::IsEmpty());
}

TEST(Processes, AGrandchildThatForkedTwiceIntoItsOwnSessionEndsWithTheChild) {
  const TemporaryFolder folder;
  const std::string file = (folder / "pid").string();
  const std::string daemon = "setsid sh -c 'echo $$ > " + file + "; exec sleep 100' &";
  ChildProcess child({.command = {"sh", "-c", "(" + daemon + ") ; sleep 0.3"}});
  const pid_t orphan = number_in(file);
  EXPECT_TRUE(lives(orphan));
  ASSERT_TRUE(child.wait_for(seconds(10)));
  EXPECT_FALSE(lives(orphan));
  EXPECT_EQ(child.orphans_ended(), 1);
}

TEST(Processes, AnOrphanWithoutItsEnvironmentEndsToo) {
  const TemporaryFolder folder;
  const std::string file = (folder / "pid").string();
  ChildProcess child({.command = {"sh", "-c",
                                  "(env -i setsid sh -c 'echo $$ > " + file +
                                      "; exec sleep 100' &) ; sleep 100"}});
  const pid_t orphan = number_in(file);
  child.stop(milliseconds(0));
  EXPECT_FALSE(lives(orphan));
}

TEST(Processes, AnotherRunningChildIsNoOrphan) {
  ChildProcess other({.command = {"sleep", "100"}});
  ChildProcess child({.command = {"true"}});
  ASSERT_TRUE(child.wait_for(seconds(10)));
  EXPECT_FALSE(other.poll());
  EXPECT_EQ(child.orphans_ended(), 0);
}

TEST(Processes, WhatAProcessThatWasKilledLeftIsEndedByItsMark) {
  const TemporaryFolder folder;
  const std::string file = (folder / "pid").string();
  // A shell that dies and leaves a process: the kernel hands it to us or to init.
  ChildProcess child(
      {.command = {"sh", "-c", "setsid sh -c 'echo $$ > " + file + "; exec sleep 100' & sleep 1"},
       .environment = {{"WT_MARK", file}}});
  const pid_t left = number_in(file);
  EXPECT_THAT(processes_with("WT_MARK", file), ::testing::Contains(left));
  EXPECT_GE(end_processes({left}), 1);
  EXPECT_THAT(processes_with("WT_MARK", file), ::testing::Not(::testing::Contains(left)));
}

}  // namespace
}  // namespace windtunnel::base
